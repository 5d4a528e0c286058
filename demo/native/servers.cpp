// Fits a line by workers and parameter servers, each process with its own TF_CONFIG.
#include <cstdio>
#include <etude/etude.hpp>

namespace {

using namespace etude;

/// One step of a worker: the gradients of its next batch, with the variables as they are now.
std::vector<Tensor> step(WorkerContext& worker, const std::vector<Tensor>&) {
  const Batch batch = worker.next("points");
  const NamedTensors now = worker.variables().pull();
  const auto results = get_strategy()->run(
      [](std::span<const Value> in) -> std::vector<Value> {
        const Value error = in[0] * in[2] + in[1] - in[3];
        const Value loss = ops::mean(error * error);
        const std::vector<Value> d = gradients(loss, in.first(2));
        return {d[0], d[1], loss};
      },
      {{now.at("slope")}, {now.at("offset")}, {batch.x[0]}, {batch.y[0]}});
  worker.variables().push({{"slope", results[0][0]}, {"offset", results[1][0]}});
  return {results[2][0]};
}

/// Points on the line y = 3 x - 1; each worker has other ones.
Dataset points(const InputContext& context) {
  Tensor x({256, 1}), y({256, 1});
  Random random(static_cast<std::uint64_t>(context.input_pipeline_id), RandomStream::step);
  for (std::size_t i = 0; i < 256; ++i) {
    x.data<float>()[i] = 2 * random.uniform() - 1;
    y.data<float>()[i] = 3 * x.data<float>()[i] - 1;
  }
  return Dataset::from_tensor_slices({.x = {x}, .y = {y}, .sample_weight = {}}).batch(32).repeat();
}

void coordinate(const ServerCluster& cluster, const ServerProgram& program) {
  ClusterCoordinator coordinator(cluster, program);
  ServerVariables& variables = coordinator.variables();
  variables.create({{"slope", Tensor({1})}, {"offset", Tensor({1})}});
  const PerWorkerDataset points = coordinator.create_per_worker_dataset("points");
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (int i = 0; i < 100; ++i) coordinator.schedule("step", {}, {points});
    coordinator.join();
  }
  const NamedTensors line = variables.pull();
  std::printf("y = %.2f x + %.2f\n", line.at("slope").item(), line.at("offset").item());
}

void run() {
  const ServerCluster cluster = server_cluster_from_environment();
  ServerProgram program;
  program.functions["step"] = step;
  program.datasets["points"] = {points};
  program.optimizer = [] { return optimizers::adam({.learning_rate = 0.05}); };
  if (cluster.task == "chief")
    coordinate(cluster, program);
  else
    run_server(cluster, program);
}

}  // namespace

int main() {
  try {
    run();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
