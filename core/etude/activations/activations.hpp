#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "etude/classes/field.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// An activation by name, as a function of Values, or none at all.
class Activation {
 public:
  /// A function of a Value, applied elementwise or along its last axis.
  using Function = std::function<Value(Value)>;
  Activation() = default;
  /// By name; an unknown name is an Error(value) when a layer takes it.
  Activation(const char* name) : name_(name) {}
  Activation(std::string name) : name_(std::move(name)) {}
  /// Any function of a Value.
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

/// The function called `name`, with the options that it has at first: linear, relu, leaky_relu, relu6, elu, selu, celu,
/// gelu, silu or swish, mish, softplus, softsign, squareplus, exponential, sigmoid, log_sigmoid, hard_sigmoid,
/// hard_silu or hard_swish, tanh, hard_tanh, tanh_shrink, hard_shrink, soft_shrink, threshold, softmax, log_softmax,
/// sparsemax, sparse_plus, sparse_sigmoid, glu.
Activation::Function get(const std::string& name);

/// Options of relu.
struct ReluOptions {
  double negative_slope = 0;
  std::optional<double> max_value = {};
  double threshold = 0;
  template <class O = ReluOptions> static constexpr auto fields() {
    return option_rows(option<&O::negative_slope>("Slope below the threshold."),
                       option<&O::max_value>("Largest result. Default: no limit."),
                       option<&O::threshold>("Value below which the slope applies."));
  }
};
/// Options of leaky_relu.
struct LeakyReluOptions {
  double negative_slope = 0.2;
  template <class O = LeakyReluOptions> static constexpr auto fields() {
    return option_rows(option<&O::negative_slope>("Slope below 0."));
  }
};
/// Options of elu.
struct EluOptions {
  double alpha = 1;
  template <class O = EluOptions> static constexpr auto fields() {
    return option_rows(option<&O::alpha>("Scale of the exponential below 0."));
  }
};
/// Options of celu.
struct CeluOptions {
  double alpha = 1;
  template <class O = CeluOptions> static constexpr auto fields() {
    return option_rows(option<&O::alpha>("Scale of the exponential below 0."));
  }
};
/// Options of gelu.
struct GeluOptions {
  bool approximate = false;
  template <class O = GeluOptions> static constexpr auto fields() {
    return option_rows(option<&O::approximate>("Whether tanh approximates the normal distribution."));
  }
};
/// Options of threshold.
struct ThresholdOptions {
  double threshold = 0;
  double default_value = 0;
  template <class O = ThresholdOptions> static constexpr auto fields() {
    return option_rows(option<&O::threshold>("Value above which x is kept."),
                       option<&O::default_value>("Result elsewhere."));
  }
};
/// Options of hard_shrink.
struct HardShrinkOptions {
  double threshold = 0.5;
  template <class O = HardShrinkOptions> static constexpr auto fields() {
    return option_rows(option<&O::threshold>("Magnitude up to which the result is 0."));
  }
};
/// Options of soft_shrink.
struct SoftShrinkOptions {
  double threshold = 0.5;
  template <class O = SoftShrinkOptions> static constexpr auto fields() {
    return option_rows(option<&O::threshold>("Magnitude by which x is moved towards 0."));
  }
};
/// Options of squareplus.
struct SquareplusOptions {
  double b = 4;
  template <class O = SquareplusOptions> static constexpr auto fields() {
    return option_rows(option<&O::b>("Width of the curve around 0."));
  }
};

/// x above the threshold, at most max_value; negative_slope · (x - threshold) elsewhere.
Value relu(Value x, const ReluOptions& options);
/// x where it is positive, else negative_slope · x.
Value leaky_relu(Value x, const LeakyReluOptions& options = {});
/// x between 0 and 6.
Value relu6(Value x);
/// x where it is positive, else alpha · (exp(x) - 1). Source: https://arxiv.org/abs/1511.07289.
Value elu(Value x, const EluOptions& options = {});
/// 1.05070098 · elu(x) of alpha 1.67326324. Source: https://arxiv.org/abs/1706.02515.
Value selu(Value x);
/// max(x, 0) + min(alpha · (exp(x / alpha) - 1), 0). Source: https://arxiv.org/abs/1704.07483.
Value celu(Value x, const CeluOptions& options = {});
/// x · Φ(x), Φ the normal distribution's; approximately by tanh on demand. Source: https://arxiv.org/abs/1606.08415.
Value gelu(Value x, const GeluOptions& options = {});
/// x · sigmoid(x).
Value silu(Value x);
/// x · tanh(softplus(x)). Source: https://arxiv.org/abs/1908.08681.
Value mish(Value x);
/// x / (1 + |x|).
Value softsign(Value x);
/// (x + sqrt(x² + b)) / 2. Source: https://arxiv.org/abs/2112.11687.
Value squareplus(Value x, const SquareplusOptions& options = {});
/// log(sigmoid(x)).
Value log_sigmoid(Value x);
/// x / 6 + 0.5, between 0 and 1.
Value hard_sigmoid(Value x);
/// x · hard_sigmoid(x).
Value hard_silu(Value x);
/// x between -1 and 1.
Value hard_tanh(Value x);
/// x - tanh(x).
Value tanh_shrink(Value x);
/// x where |x| > threshold, else 0.
Value hard_shrink(Value x, const HardShrinkOptions& options = {});
/// x nearer to 0 by the threshold; 0 where |x| is not above it.
Value soft_shrink(Value x, const SoftShrinkOptions& options = {});
/// x above the threshold, default_value elsewhere.
Value threshold(Value x, const ThresholdOptions& options = {});
/// 0 up to -1, x from 1 on, (x + 1)² / 4 between.
Value sparse_plus(Value x);
/// (x + 1) / 2, between 0 and 1.
Value sparse_sigmoid(Value x);
/// Softmax over these axes together.
Value softmax(Value x, const std::vector<std::ptrdiff_t>& axes);
/// The logarithm of softmax over these axes together.
Value log_softmax(Value x, const std::vector<std::ptrdiff_t>& axes);
/// The point nearest to x of those whose entries along `axis` are not negative and have a sum of 1. Compares each pair
/// of entries: k² numbers for k entries. Source: https://arxiv.org/abs/1602.02068.
Value sparsemax(Value x, std::ptrdiff_t axis = -1);
/// a · sigmoid(b), a and b the halves of x along `axis`, whose extent must be even. Source:
/// https://arxiv.org/abs/1612.08083.
Value glu(Value x, std::ptrdiff_t axis = -1);

}  // namespace activations
}  // namespace etude
