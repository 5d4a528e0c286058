// Times one of several processes that train together, each with one thread. Rank 0 prints JSON lines.
//
//     etude-launch -n 2 etude_scale strong WORKLOAD [PACK]   steps of a workload, whose batch the processes divide
//     etude-launch -n 2 etude_scale weak WORKLOAD [PACK]     steps of a workload, with its whole batch in each process
//     etude-launch -n 2 etude_scale sum                      sums of growing size over the processes
//
// PACK is WorkerOptions::bytes_per_pack.
#include <cstdio>
#include <etude/etude.hpp>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "../clock.hpp"
#include "../measure.hpp"
#include "../workloads.hpp"

namespace {

using etude::Workers;

void print(const Workers& workers, const std::string& of, double bytes, const std::vector<double>& laps) {
  if (!workers.is_chief()) return;
  std::printf(R"({"processes": %d, "of": "%s", "bytes": %.0f, "ms_p10": %.6f, "ms_median": %.6f})"
              "\n",
              workers.count(), of.c_str(), bytes, 1e3 * quantile(laps, 0.1), 1e3 * quantile(laps, 0.5));
  std::fflush(stdout);
}

/// The time of a step after warm-up. Together the processes compute `batches` batches of the workload in a step. The
/// bytes are those of the gradients, which the processes sum.
void time_steps(const std::shared_ptr<Workers>& workers, const std::string& name, std::int64_t batches) {
  constexpr std::int64_t steps = 200;
  const auto strategy = std::make_shared<etude::MultiWorkerMirroredStrategy>(workers);
  const auto scope = strategy->scope();
  etude::set_random_seed(1);
  Workload work = make_workload(name);
  work.model->compile(work.compile);
  const auto stopwatch = std::make_shared<Stopwatch>(steps, steps / 10);
  work.model->fit(
      work.x, work.y,
      {.batch_size = batches * work.batch, .verbose = 0, .callbacks = {stopwatch}, .steps_per_epoch = steps});
  double bytes = 0;
  for (const etude::Variable& variable : work.model->trainable_variables())
    bytes += 4 * static_cast<double>(variable.shape().size());
  print(*workers, name, bytes, stopwatch->laps);
}

/// The time of a sum of float32 numbers, from a moment at which all processes are ready.
void time_sums(Workers& workers) {
  for (std::int64_t elements = 1; elements <= 4 << 20; elements *= 16) {
    std::vector<float> part(static_cast<std::size_t>(elements), 1.0F), sum(part.size());
    const etude::ReplicaSum value{etude::DType::float32,
                                  elements,
                                  {reinterpret_cast<const std::byte*>(part.data())},
                                  {reinterpret_cast<std::byte*>(sum.data())}};
    std::vector<double> laps;
    for (int i = 0; i < (elements > 100'000 ? 30 : 300); ++i) {
      workers.all_gather(std::int64_t{0});
      const double began = wall_seconds();
      workers.all_reduce({&value, 1});
      laps.push_back(wall_seconds() - began);
    }
    print(workers, "sum", 4 * static_cast<double>(elements), laps);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool steps = (words.size() == 2 || words.size() == 3) && (words[0] == "strong" || words[0] == "weak");
  if (!steps && words != std::vector<std::string>{"sum"})
    throw std::invalid_argument("expected \"strong WORKLOAD [PACK]\", \"weak WORKLOAD [PACK]\" or \"sum\"");
  etude::set_num_threads(1);
  const std::size_t pack = words.size() == 3 ? std::stoull(words[2]) : 0;
  const auto workers = etude::connect_workers(etude::cluster_from_environment(), {.bytes_per_pack = pack});
  if (steps)
    time_steps(workers, words[1], words[0] == "weak" ? workers->count() : 1);
  else
    time_sums(*workers);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "etude_scale: %s\n", error.what());
  return 1;
}
