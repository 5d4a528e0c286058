#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "etude/base/choice.hpp"
#include "etude/base/description.hpp"
#include "etude/base/random.hpp"
#include "etude/base/tensor.hpp"

namespace etude {

/// Makes a variable's first value.
class Initializer : public Described {
 public:
  virtual ~Initializer() = default;
  /// A tensor of `shape`; random ones draw from a stream of their own, so that equal seeds give equal models.
  virtual Tensor operator()(const Shape& shape, DType dtype) = 0;
  /// Passes over the random stream that a call would draw from, for a value that is not needed.
  virtual void skip() {}
};
using InitializerPtr = std::shared_ptr<Initializer>;

namespace initializers {

/// What Constant fills a weight with: a number, or an array, which is broadcast to the weight's shape by NumPy's rule.
class ConstantValue {
 public:
  ConstantValue(double number) : number_(number) {}
  ConstantValue(Tensor array) : array_(std::move(array)) {}
  /// An array of one axis.
  ConstantValue(std::initializer_list<double> array)
      : array_(Tensor::from<double>({static_cast<std::int64_t>(array.size())}, array)) {}

  double number() const { return number_; }
  /// No Tensor where it is a number.
  const Tensor& array() const { return array_; }

 private:
  double number_ = 0;
  Tensor array_;
};

struct ConstantOptions {
  ConstantValue value = 0;
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) { visit("value", self.value); }
};
struct RandomOptions {
  double mean = 0, stddev = 0.05;
  std::optional<std::int64_t> seed{};
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("mean", self.mean);
    visit("stddev", self.stddev);
    visit("seed", self.seed);
  }
};
struct UniformOptions {
  double minval = -0.05, maxval = 0.05;
  std::optional<std::int64_t> seed{};
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("minval", self.minval);
    visit("maxval", self.maxval);
    visit("seed", self.seed);
  }
};
struct SeedOptions {
  std::optional<std::int64_t> seed{};
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) { visit("seed", self.seed); }
};

struct OrthogonalOptions {
  double gain = 1;
  std::optional<std::int64_t> seed{};
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("gain", self.gain);
    visit("seed", self.seed);
  }
};

InitializerPtr zeros();
InitializerPtr ones();
/// A number, or an array that is broadcast. The weight cannot be made, by an Error(shape), where that gives another
/// shape than its own.
InitializerPtr constant(ConstantOptions options = {});
InitializerPtr random_normal(RandomOptions options = {});
InitializerPtr truncated_normal(RandomOptions options = {});
InitializerPtr random_uniform(UniformOptions options = {});
/// Variance scaling: uniform within ±sqrt(3 scale / fan), or a normal cut off at two sigma whose standard
/// deviation is sqrt(scale / fan). glorot: scale 1 over the mean of fan_in and fan_out; he: 2 / fan_in; lecun: 1 /
/// fan_in.
InitializerPtr glorot_uniform(SeedOptions options = {});
InitializerPtr glorot_normal(SeedOptions options = {});
InitializerPtr he_uniform(SeedOptions options = {});
InitializerPtr he_normal(SeedOptions options = {});
InitializerPtr lecun_uniform(SeedOptions options = {});
InitializerPtr lecun_normal(SeedOptions options = {});
/// A matrix with orthonormal columns, or rows where there are fewer of them, times `gain`; of more axes, all but the
/// last are rows. The diagonal of R in the factorization that makes it is not negative, as in Keras; for one seed the
/// bits are the same on every target. Throws Error(shape) for shapes of fewer than two axes. Source: Saxe et al., 2014.
InitializerPtr orthogonal(OrthogonalOptions options = {});

/// By name or object; throws Error(value) listing the names there are.
InitializerPtr get(const Choice<Initializer>& choice);

}  // namespace initializers
}  // namespace etude
