#include "etude/training/step.hpp"

#include <cstddef>
#include <utility>

#include "etude/data/columns.hpp"

namespace etude {
namespace {

void arrange(std::vector<Value>& values, std::vector<std::string>& names, std::span<const std::ptrdiff_t> places,
             std::span<const std::string> order) {
  std::vector<Value> arranged;
  for (const std::ptrdiff_t place : places)
    arranged.push_back(place < 0 ? Value{} : values[static_cast<std::size_t>(place)]);
  values = std::move(arranged);
  names.assign(order.begin(), order.end());
}

}  // namespace

StepData in_order(StepData data, std::span<const std::string> inputs, std::span<const std::string> outputs) {
  BatchNames& names = data.names;
  if (!names.x.empty() && !inputs.empty()) arrange(data.x, names.x, input_places(names.x, inputs), inputs);
  if (outputs.empty()) return data;
  if (!names.y.empty()) arrange(data.y, names.y, output_places(names.y, "y", outputs), outputs);
  if (!names.sample_weight.empty())
    arrange(data.sample_weight, names.sample_weight, output_places(names.sample_weight, "sample_weight", outputs),
            outputs);
  return data;
}

}  // namespace etude
