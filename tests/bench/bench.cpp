// etude_bench [--threads N] [workload…]: trains each workload inside fit with its default callbacks, and prints a JSON
// line of what a step took once it was warm. Times are medians; compare them only within one run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "../allocation_counter.hpp"
#include "clock.hpp"
#include "workloads.hpp"

namespace {

double quantile(std::vector<double>& values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

/// Notes the time and the allocations of every step, from the end of the one before. Its memory is there before the
/// first.
class Stopwatch : public etude::Callback {
 public:
  explicit Stopwatch(std::int64_t steps) : warm_up_(steps / 10) {
    laps.reserve(static_cast<std::size_t>(steps));
    allocated.reserve(static_cast<std::size_t>(steps));
  }

  void on_train_batch_end(std::int64_t, etude::Logs&) override {
    const double now = wall_seconds();
    const std::size_t count = etude::allocations();
    if (++step_ > warm_up_) {
      laps.push_back(now - last_);
      allocated.push_back(static_cast<double>(count - count_));
    }
    if (step_ == warm_up_) cpu_ = cpu_seconds();
    last_ = now;
    count_ = count;
  }
  void on_epoch_end(int, etude::Logs&) override { cpu_end_ = cpu_seconds(); }

  double cpu_per_step() const { return (cpu_end_ - cpu_) / static_cast<double>(laps.size()); }
  std::vector<double> laps, allocated;

 private:
  std::int64_t step_ = 0, warm_up_;
  double last_ = 0, cpu_ = 0, cpu_end_ = 0;
  std::size_t count_ = 0;
};

/// The bar that fit shows by default, drawn but not printed: the output is JSON lines.
class QuietBar : public etude::ProgbarLogger {
 public:
  QuietBar() : ProgbarLogger([](std::string_view) {}) {}
  void set_params(const etude::CallbackParams& params) override {
    etude::CallbackParams shown = params;
    shown.verbose = 1;
    ProgbarLogger::set_params(shown);
  }
};

void run(const std::string& name) {
  etude::set_random_seed(1);
  Workload work = make_workload(name);
  work.model->compile(work.compile);
  const std::int64_t per_epoch = (work.x.shape()[0] + work.batch - 1) / work.batch;
  const auto epochs = static_cast<int>((work.steps + per_epoch - 1) / per_epoch);
  const auto stopwatch = std::make_shared<Stopwatch>(epochs * per_epoch);
  const auto history = work.model->fit(work.x, work.y,
                                       {.batch_size = work.batch,
                                        .epochs = epochs,
                                        .verbose = 0,
                                        .callbacks = {std::make_shared<QuietBar>(), stopwatch}});
  const double median = quantile(stopwatch->laps, 0.5);
  std::printf(
      R"({"target": "%s", "workload": "%s", "threads": %d, "batch": %d, "samples_per_s": %.0f, "step_ms_median": %.5f, )"
      R"("step_ms_p95": %.5f, "cpu_ms_per_step": %.5f, "allocations_per_step": %.0f, "final_loss": %.6f})"
      "\n",
      target_name(), name.c_str(), etude::num_threads(), static_cast<int>(work.batch),
      static_cast<double>(work.batch) / median, 1e3 * median, 1e3 * quantile(stopwatch->laps, 0.95),
      1e3 * stopwatch->cpu_per_step(), quantile(stopwatch->allocated, 0.5), (*history)["loss"].back());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> names;
  int threads = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc)
      threads = std::atoi(argv[++i]);
    else
      names.push_back(argument);
  }
  etude::set_num_threads(threads);
  for (const std::string& name : names.empty() ? workload_names() : names) run(name);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
