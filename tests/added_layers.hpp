#pragma once

#include <nlohmann/json.hpp>

#include "golden.hpp"

/// The results of Keras in tests/golden/added_layers.json.
namespace etude::samples {

inline const nlohmann::json& added_layers(const char* name) {
  static const nlohmann::json all = testing::golden("added_layers.json");
  return all.at("cases").at(name);
}

using testing::tensor_of_lists;

}  // namespace etude::samples
