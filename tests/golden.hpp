#pragma once

#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "etude/base/host.hpp"
#include "golden_path.hpp"
#include "support.hpp"

namespace etude::testing {

/// A file of tests/golden; see its README.md.
inline nlohmann::json golden(const std::string& name) {
  const auto bytes = read_file(golden_path(name));
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return nlohmann::json::parse(text, text + bytes.size());
}

/// The bytes of two digits each.
inline std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

/// The result of Keras of that major version in a case of tests/golden/make_repairs.py.
inline const nlohmann::json& keras(int version, const std::string& name) {
  static const nlohmann::json versions[] = {golden("keras2.json"), golden("keras3.json")};
  return versions[version - 2].at("cases").at(name);
}

/// The numbers of nested lists, in order.
inline std::vector<double> numbers_in(const nlohmann::json& value) {
  if (value.is_string()) return {std::numeric_limits<double>::quiet_NaN()};
  if (value.is_boolean()) return {value.get<bool>() ? 1.0 : 0.0};
  if (!value.is_array()) return {value.get<double>()};
  std::vector<double> all;
  for (const nlohmann::json& each : value)
    for (const double number : numbers_in(each)) all.push_back(number);
  return all;
}

/// Nested lists as a tensor of int32, bool, or else floatx.
inline Tensor tensor_of_lists(const nlohmann::json& lists) {
  Shape shape;
  const nlohmann::json* first = &lists;
  for (; first->is_array(); first = &first->front()) shape.append(static_cast<std::int64_t>(first->size()));
  const DType dtype = first->is_boolean() ? DType::boolean : first->is_number_integer() ? DType::int32 : floatx();
  return tensor_of(shape, dtype, numbers_in(lists));
}

inline Shape shape_in(const nlohmann::json& extents) {
  Shape shape;
  for (const nlohmann::json& extent : extents) shape.append(extent);
  return shape;
}

/// An array that the generator defined by its dtype, shape and value.
inline Tensor tensor_in(const nlohmann::json& described) {
  const std::string name = described.at("dtype");
  const DType dtype = name == "uint8" ? DType::uint8 : name == "int32" ? DType::int32 : DType::float32;
  return tensor_of(shape_in(described.at("shape")), dtype, numbers_in(described.at("value")));
}

/// Logs, pairs of name and value, as "loss=4 a_loss=4".
inline std::string logs_in(const nlohmann::json& pairs) {
  std::string text;
  for (const nlohmann::json& pair : pairs) {
    char number[32];
    std::snprintf(number, sizeof number, "%.6g", pair.at(1).get<double>());
    text += (text.empty() ? "" : " ") + pair.at(0).get<std::string>() + '=' + number;
  }
  return text;
}

}  // namespace etude::testing
