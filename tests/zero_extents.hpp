#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config_samples.hpp"
#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/saving/config.hpp"
#include "support.hpp"

/// What the tests of extents of 0 share.
namespace etude::testing {

using Values = std::span<const Value>;

/// The sum of all gradients of a function, and its value: the computation of a training step.
inline Function with_gradients(const Function& function) {
  return [=](Values x) {
    std::vector<Value> floats;
    for (const Value& value : x)
      if (is_floating(value.dtype())) floats.push_back(value);
    const Value y = function(x);
    Value total = ops::sum(ops::cast(y, DType::float64));
    if (!is_floating(y.dtype())) return total;
    for (const Value& dx : gradients(ops::sum(y), floats))
      if (dx) total = total + ops::sum(ops::cast(dx, DType::float64));
    return total;
  };
}

/// The tensor, or nothing after an Error. Any other exception fails the test.
template <class Action> std::optional<Tensor> unless_error(Action action) {
  try {
    return action();
  } catch (const Error&) {
    return std::nullopt;
  }
}

inline std::vector<double> zeros(std::size_t count) { return std::vector<double>(count); }

/// The example of a class, except for strides of 1, so that an output's extent is a linear function of the input's, and
/// functions with an effect.
inline std::string config_of(const std::string& name) {
  static const std::map<std::string, std::string> configs{{"Activation", R"({"activation": "tanh"})"},
                                                          {"GRU", R"({"units": 3, "return_sequences": true})"},
                                                          {"MaxPooling2D", R"({"pool_size": 2, "strides": 1})"}};
  const auto found = configs.find(name);
  return found == configs.end() ? samples::needed(name).dump() : found->second;
}

template <class T> std::shared_ptr<T> made(const std::string& name) {
  return from_json<T>(R"({"class_name": ")" + name + R"(", "config": )" + config_of(name) + "}");
}

}  // namespace etude::testing
