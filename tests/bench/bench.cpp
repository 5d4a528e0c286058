// etude_bench [--threads N] [--seed N] [--isa NAME] [--steps N] [--dtype-policy NAME] [WORKLOAD…]
//                      trains each workload in fit with its default callbacks, or predicts with it, and prints the
//                      time of a step after warm-up as a JSON line. --isa: an instruction set, such as "avx2",
//                      instead of the processor's best one. --steps: the number of steps, instead of the workload's.
//                      --dtype-policy: the dtype policy of the layers, such as "mixed_bfloat16".
// etude_bench [--threads N] build [WORKLOAD…]
//                      measures the building of each workload's model, with its initial values: a JSON line.
// etude_bench scaling  measures times for growing batch, width and depth.
// etude_bench peak     measures the peak rates of this processor.
// etude_bench list     prints the names of the workloads.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "clock.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/kernels/cpu/cpu.hpp"
#include "measure.hpp"
#include "peak.hpp"
#include "scaling.hpp"
#include "workloads.hpp"

namespace {

/// The elements of all trainable variables.
int trainable_parameters(const etude::Model& model) {
  std::int64_t sum = 0;
  for (const etude::Variable& variable : model.trainable_variables()) sum += variable.shape().size();
  return static_cast<int>(sum);
}

/// The beginning of a workload's line, and the samples of a step.
void print_times(const std::string& name, const Workload& work, std::int64_t samples, const std::vector<double>& laps,
                 double cpu) {
  const double median = quantile(laps, 0.5);
  std::printf(
      R"({"target": "%s", "workload": "%s", "threads": %d, "batch": %d, "parameters": %d, "steps": %d, )"
      R"("samples_per_s": %.0f, "step_ms_median": %.5f, "step_ms_p10": %.5f, "step_ms_p95": %.5f, "cpu_ms_per_step": %.5f)",
      target_name(), name.c_str(), etude::num_threads(), static_cast<int>(work.batch),
      trainable_parameters(*work.model), static_cast<int>(laps.size()), static_cast<double>(samples) / median,
      1e3 * median, 1e3 * quantile(laps, 0.1), 1e3 * quantile(laps, 0.95), 1e3 * cpu);
}

void print_losses(const Stopwatch& stopwatch) {
  std::printf(R"(, "allocations_per_step": %.0f, "losses": {)", quantile(stopwatch.allocated, 0.5));
  const char* between = "";
  for (const auto& [step, loss] : stopwatch.losses) {
    std::printf(R"(%s"%d": %.5g)", between, static_cast<int>(step), loss);
    between = ", ";
  }
  std::printf("}");
}

void train(const std::string& name, const Workload& work) {
  const std::int64_t per_epoch = std::min((work.x.shape()[0] + work.batch - 1) / work.batch, work.steps);
  const std::int64_t epochs = (work.steps + per_epoch - 1) / per_epoch, steps = epochs * per_epoch;
  const auto stopwatch = std::make_shared<Stopwatch>(steps, steps / 10);
  work.model->fit(work.x, work.y,
                  {.batch_size = work.batch,
                   .epochs = static_cast<int>(epochs),
                   .verbose = 0,
                   .callbacks = {std::make_shared<QuietBar>(), stopwatch},
                   .steps_per_epoch = per_epoch});
  print_times(name, work, work.batch, stopwatch->laps, stopwatch->cpu_per_step());
  // For the queued steps of a GPU, this is their duration.
  std::printf(R"(, "device": "%s", "step_ms": %.5f)", std::string(work.model->strategy()->device().name()).c_str(),
              1e3 * stopwatch->waited_per_step());
  print_losses(*stopwatch);
}

void predict(const std::string& name, const Workload& work) {
  const auto once = [&] { work.model->predict(work.x, {.batch_size = work.batch, .verbose = 0}); };
  once();
  std::vector<double> laps;
  const double cpu = cpu_seconds();
  for (int i = 0; i < work.predictions; ++i) {
    const double began = wall_seconds();
    once();
    laps.push_back(wall_seconds() - began);
  }
  print_times(name, work, work.x.shape()[0], laps, (cpu_seconds() - cpu) / work.predictions);
}

/// The CPU with the kernels of that instruction set.
etude::StrategyPtr processor_with(std::string_view isa) {
  for (const etude::cpu::Kernels& kernels : etude::cpu::available_kernels()) {
    if (isa != kernels.isa) continue;
    static etude::Cpu device(kernels);
    return std::make_shared<etude::OneDeviceStrategy>(device);
  }
  throw std::invalid_argument("no instruction set \"" + std::string(isa) + "\" in this build, or on this processor");
}

void run(const std::string& name, std::uint64_t seed, std::int64_t steps) {
  etude::set_random_seed(seed);
  Workload work = make_workload(name);
  if (steps) work.steps = steps;
  work.model->compile(work.compile);
  work.predictions ? predict(name, work) : train(name, work);
  std::printf("}\n");
  std::fflush(stdout);
}

/// A new model each time, because a built model stays built.
void build(const std::string& name) {
  constexpr int times = 9;
  std::vector<double> laps;
  std::size_t parameters = 0;
  for (int i = 0; i < times; ++i) {
    const Workload work = make_workload(name);
    etude::Shape shape = work.x.shape();
    shape[0] = work.batch;
    const double began = cpu_seconds();
    work.model->build(shape);
    laps.push_back(cpu_seconds() - began);
    parameters = static_cast<std::size_t>(work.model->count_params());
  }
  std::printf(R"({"target": "%s", "workload": "%s", "threads": %d, "parameters": %zu, "build_cpu_ms_median": %.3f, )"
              R"("build_cpu_ms_p10": %.3f})"
              "\n",
              target_name(), name.c_str(), etude::num_threads(), parameters, 1e3 * quantile(laps, 0.5),
              1e3 * quantile(laps, 0.1));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> names;
  int threads = 1;
  std::uint64_t seed = 1;
  std::int64_t steps = 0;
  etude::StrategyPtr strategy = etude::get_strategy();
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc)
      threads = std::atoi(argv[++i]);
    else if (argument == "--seed" && i + 1 < argc)
      seed = static_cast<std::uint64_t>(std::atoll(argv[++i]));
    else if (argument == "--steps" && i + 1 < argc)
      steps = std::atoll(argv[++i]);
    else if (argument == "--dtype-policy" && i + 1 < argc)
      etude::set_dtype_policy(argv[++i]);
    else if (argument == "--isa" && i + 1 < argc)
      strategy = processor_with(argv[++i]);
    else
      names.push_back(argument);
  }
  const auto scope = strategy->scope();
  etude::set_num_threads(threads);
  if (names == std::vector<std::string>{"list"}) {
    for (const std::string& name : workload_names()) std::puts(name.c_str());
  } else if (names == std::vector<std::string>{"scaling"}) {
    print_scaling();
  } else if (names == std::vector<std::string>{"peak"}) {
    print_peak();
  } else if (!names.empty() && names.front() == "build") {
    names.erase(names.begin());
    for (const std::string& name : names.empty() ? workload_names() : names) build(name);
  } else {
    for (const std::string& name : names.empty() ? workload_names() : names) run(name, seed, steps);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
