#pragma once

#include <nlohmann/json.hpp>

#include "golden.hpp"

/// The results of Keras in tests/golden/added_layers.json.
namespace etude::samples {

inline const nlohmann::json& added_layers(const char* name) {
  static const nlohmann::json all = testing::golden("added_layers.json");
  return all.at("cases").at(name);
}

/// Nested lists as a tensor: boolean ones, or float32.
inline Tensor tensor_of_lists(const nlohmann::json& lists) {
  Shape shape;
  const nlohmann::json* level = &lists;
  for (; level->is_array(); level = &level->front()) shape.append(static_cast<std::int64_t>(level->size()));
  const Tensor tensor = testing::tensor_of(shape, DType::float32, testing::numbers_in(lists));
  return level->is_boolean() ? tensor.astype(DType::boolean) : tensor;
}

}  // namespace etude::samples
