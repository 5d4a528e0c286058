#pragma once

#include <chrono>
#include <cmath>
#include <etude/etude.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/errors.hpp"
#include "gloo/processes.hpp"

/// A model that a chief, workers and parameter servers train, each in a process of its own.
namespace etude::testing {

using std::chrono::milliseconds;

inline constexpr std::int64_t rows = 48, batch_size = 8, steps = 6;  // a pass
inline constexpr double deadline = 120;                              // in seconds, for each cluster
inline constexpr CoordinatorOptions quick{.timeout = milliseconds(5000), .absence = milliseconds(20000)};

inline Tensor waves(const Shape& shape, float at = 0) {
  Tensor tensor(shape);
  for (float& element : tensor.data<float>()) element = std::sin(at += 0.7F);
  return tensor;
}

/// Targets that depend on the inputs.
inline Batch samples() {
  Batch batch{.x = {waves({rows, 4})}, .y = {Tensor({rows, 1})}, .sample_weight = {}};
  for (std::size_t row = 0; row < rows; ++row)
    batch.y[0].data<float>()[row] = 0.5F * batch.x[0].data<float>()[4 * row] - batch.x[0].data<float>()[4 * row + 1];
  return batch;
}

inline Dataset batches(const InputContext& context) {
  return Dataset::from_tensor_slices(samples())
      .shard(context.num_input_pipelines, context.input_pipeline_id)
      .batch(batch_size)
      .repeat();
}

inline const DatasetCreator train{.dataset_fn = batches, .name = "train"};

using Layers = std::function<std::vector<LayerPtr>()>;
using MakeOptimizer = std::function<OptimizerPtr()>;

inline std::vector<LayerPtr> dense_layers() {
  return {layers::dense({.units = 8, .activation = "tanh"}), layers::dense({.units = 1})};
}

/// The same program in all processes.
struct Program {
  Layers layers = dense_layers;
  MakeOptimizer optimizer = [] { return optimizers::adam({.learning_rate = 0.02}); };
  Partitioner partitioner = {};
  std::vector<DatasetCreator> datasets = {train};
  int workers = 1, servers = 2;
  std::int64_t steps_per_execution = 1;

  std::shared_ptr<Sequential> model() const {
    set_random_seed(7);
    auto result = std::make_shared<Sequential>(layers());
    result->compile(
        {.optimizer = optimizer(), .loss = "mse", .metrics = {"mae"}, .steps_per_execution = steps_per_execution});
    return result;
  }
};

using Chief = std::function<std::string(Sequential& model)>;
/// Called in a worker or server before it serves.
using Before = std::function<void(const ServerCluster& own)>;

/// What the chief returns; then what the workers and the servers do: "ended", an error, or nothing if killed.
inline Reports run_cluster(const Program& program, const Chief& chief, const Before& before = {}) {
  ServerCluster cluster;
  for (int i = 0; i < program.workers; ++i) cluster.workers.push_back(free_address());
  for (int i = 0; i < program.servers; ++i) cluster.servers.push_back(free_address());
  return run_processes(
      1 + program.workers + program.servers,
      [&](int process) -> std::string {
        ServerCluster own = cluster;
        if (process > 0) {
          own.task = process <= program.workers ? "worker" : "ps";
          own.index = process <= program.workers ? process - 1 : process - 1 - program.workers;
        }
        const auto strategy = std::make_shared<ParameterServerStrategy>(
            own, ParameterServerOptions{.variable_partitioner = program.partitioner, .communication = quick});
        const auto scope = strategy->scope();
        const auto model = program.model();
        if (strategy->is_chief()) return chief(*model);
        if (before) before(own);
        strategy->serve(*model, program.datasets);
        return "ended";
      },
      deadline);
}

inline FitOptions options(int epochs) { return {.epochs = epochs, .verbose = 0, .steps_per_epoch = steps}; }

}  // namespace etude::testing
