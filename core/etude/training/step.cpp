#include "etude/training/step.hpp"

#include <cstddef>
#include <utility>

#include "etude/data/columns.hpp"

namespace etude {
namespace {

/// Leaves Values without names as they are, and all without names to match.
void arrange(std::vector<Value>& values, std::vector<std::string>& given, std::span<const std::string> names,
             const char* what, bool required) {
  if (given.empty() || names.empty()) return;
  std::vector<Value> arranged;
  for (const std::ptrdiff_t place : places_of(given, names, what, required))
    arranged.push_back(place < 0 ? Value{} : values[static_cast<std::size_t>(place)]);
  values = std::move(arranged);
  given.assign(names.begin(), names.end());
}

}  // namespace

StepData in_order(StepData data, std::span<const std::string> inputs, std::span<const std::string> outputs) {
  arrange(data.x, data.names.x, inputs, "x", true);
  arrange(data.y, data.names.y, outputs, "y", false);
  arrange(data.sample_weight, data.names.sample_weight, outputs, "sample_weight", false);
  return data;
}

}  // namespace etude
