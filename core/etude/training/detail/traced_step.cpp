#include "etude/training/detail/traced_step.hpp"

#include <string>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/graph/detail/difference.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"

namespace etude {

StepData input_values(Graph& graph, const Batch& batch) {
  StepData data;
  data.names = names_of(batch);
  const auto add = [&](const std::vector<Tensor>& tensors, std::vector<Value>& values) {
    for (const Tensor& tensor : tensors) values.push_back(graph.input(tensor.shape(), tensor.dtype()));
  };
  add(batch.x, data.x);
  add(batch.y, data.y);
  add(batch.sample_weight, data.sample_weight);
  for (std::size_t i = 0; i < batch.mask.size(); ++i)
    if (const Tensor& mask = batch.mask[i]) data.x[i] = data.x[i].with_mask(graph.input(mask.shape(), mask.dtype()));
  return data;
}

Batch rows_of(const Batch& batch, RowRange rows) {
  Batch shard = batch;
  for (auto* group : {&shard.x, &shard.y, &shard.sample_weight, &shard.mask})
    for (Tensor& tensor : *group)
      if (tensor) tensor = tensor.rows(rows.begin, rows.end);
  return shard;
}

TracedStep::TracedStep(const Shard& shard, bool multiplies_halves, const Batch& batch, const Step& step)
    : graph(shard, multiplies_halves) {
  const Trace trace(graph);
  result = step(input_values(graph, batch));
}

std::vector<Value> TracedStep::logs() const {
  std::vector<Value> values;
  for (const auto& [name, value] : result.logs) values.push_back(value);
  return values;
}

void check_alike(const TracedStep& first, const TracedStep& second) {
  std::string text = difference(first.graph, second.graph);
  if (text.empty() && first.result.logs.size() != second.result.logs.size()) text = "the logs of two traces differ";
  check(
      text.empty(), ErrorKind::state, "check_trace", text,
      " - expected all traces of a step to be equal, because it is traced once and then replayed: values that its code "
      "computes itself, such as a random number or the time, stay constant - use ops such as uniform, or keep such "
      "values in variables.");
}

Step with_common_logs(Step step) {
  return [step = std::move(step)](const StepData& data) {
    StepResult result = step(data);
    for (auto& [name, value] : result.logs)
      if (value.graph().varies(value.id()))
        value =
            ops::all_reduce(ops::replica_part(is_floating(value.dtype()) ? value : ops::cast(value, DType::float32)));
    return result;
  };
}

}  // namespace etude
