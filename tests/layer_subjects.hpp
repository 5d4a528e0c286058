#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "etude/etude.hpp"

/// How to call each layer of the table that models may contain: layer_contract_test.cpp and ./dev test interop do.
namespace etude::testing {

/// Inputs that a layer of the table is called on, and what is special about it.
struct Subject {
  std::vector<Shape> shapes;
  nlohmann::json config = nlohmann::json::object();  ///< beside that of the class's example
  /// Whether it takes indices, whether a sample's result depends on the others, whether it is to be differentiated.
  bool indices = false, of_whole_batch = false, smooth = true;
};

/// By the names of classes.
const std::map<std::string, Subject>& subjects();
/// Random inputs for a batch of this size.
std::vector<Tensor> inputs_of(const Subject& subject, std::int64_t batch);
/// A layer of this class.
LayerPtr layer_of(const std::string& class_name, const nlohmann::json& config);

}  // namespace etude::testing
