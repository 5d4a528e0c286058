#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "etude/graph/graph.hpp"

namespace etude {

/// An activation by name, as a function of Values, or none at all.
class Activation {
 public:
  using Function = std::function<Value(Value)>;
  Activation() = default;
  Activation(const char* name) : name_(name) {}
  Activation(std::string name) : name_(std::move(name)) {}
  template <class F>
    requires std::is_invocable_r_v<Value, F, Value>
  Activation(F function) : function_(std::move(function)) {}

  /// Its name, if it was chosen by name.
  const std::string& name() const { return name_; }
  /// Whether it is a function that was given as such.
  bool is_function() const { return static_cast<bool>(function_); }
  /// f(x); x itself where there is none. Throws Error(value) listing the known names.
  Value operator()(Value x) const;

 private:
  std::string name_;
  Function function_;
};

namespace activations {

/// The function called `name`: linear, relu, sigmoid, tanh, softmax, softplus, exponential.
Activation::Function get(const std::string& name);

struct ReluOptions {
  double negative_slope = 0;
  std::optional<double> max_value = {};
  double threshold = 0;
};
/// x above the threshold, at most max_value; negative_slope · (x - threshold) elsewhere.
Value relu(Value x, const ReluOptions& options);
/// Softmax over these axes together.
Value softmax(Value x, const std::vector<std::ptrdiff_t>& axes);

}  // namespace activations
}  // namespace etude
