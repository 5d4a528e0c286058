#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "etude/base/choice.hpp"
#include "etude/base/random.hpp"
#include "etude/base/tensor.hpp"
#include "etude/classes/class_entry.hpp"

namespace etude {

/// Creates a variable's initial value.
class Initializer : public Described {
 public:
  using Kind = Initializer;
  virtual ~Initializer() = default;
  /// A tensor of `shape`; random initializers draw from separate streams, so that equal seeds give equal models.
  virtual Tensor operator()(const Shape& shape, DType dtype) = 0;
  /// Skips the random stream from which a call would draw, if its value is not needed.
  virtual void skip() {}
};
using InitializerPtr = std::shared_ptr<Initializer>;

namespace initializers {

/// The value of Constant: a number, or an array, which is broadcast to the weight's shape by NumPy's rule.
class ConstantValue {
 public:
  /// A number for all elements.
  ConstantValue(double number) : number_(number) {}
  /// An array that broadcasts to the variable.
  ConstantValue(Tensor array) : array_(std::move(array)) {}
  /// An array of one axis.
  ConstantValue(std::initializer_list<double> array)
      : array_(Tensor::from<double>({static_cast<std::int64_t>(array.size())}, array)) {}

  /// The number, unless it is an array.
  double number() const { return number_; }
  /// The array; no Tensor for a number.
  const Tensor& array() const { return array_; }

 private:
  double number_ = 0;
  Tensor array_;
};

struct ConstantOptions {
  ConstantValue value = 0;
  static constexpr auto fields() {
    return option_rows(
        option<&ConstantOptions::value>("Number, or array that is broadcast to the shape of the weight."));
  }
};
struct RandomOptions {
  double mean = 0, stddev = 0.05;
  std::optional<std::int64_t> seed{};
  static constexpr auto fields() {
    return option_rows(
        option<&RandomOptions::mean>("Mean of the normal distribution."),
        option<&RandomOptions::stddev>("Standard deviation of the normal distribution."),
        option<&RandomOptions::seed>("Seed of the random draws. Default: derived from the global seed."));
  }
};
struct UniformOptions {
  double minval = -0.05, maxval = 0.05;
  std::optional<std::int64_t> seed{};
  static constexpr auto fields() {
    return option_rows(
        option<&UniformOptions::minval>("Lower bound of the values."),
        option<&UniformOptions::maxval>("Upper bound of the values."),
        option<&UniformOptions::seed>("Seed of the random draws. Default: derived from the global seed."));
  }
};
struct SeedOptions {
  std::optional<std::int64_t> seed{};
  static constexpr auto fields() {
    return option_rows(option<&SeedOptions::seed>("Seed of the random draws. Default: derived from the global seed."));
  }
};

struct OrthogonalOptions {
  double gain = 1;
  std::optional<std::int64_t> seed{};
  static constexpr auto fields() {
    return option_rows(
        option<&OrthogonalOptions::gain>("Factor of the matrix."),
        option<&OrthogonalOptions::seed>("Seed of the random draws. Default: derived from the global seed."));
  }
};

struct Zeros {
  static constexpr ClassText about{"Zeros", "Zeros."};
  static InitializerPtr make(const NoOptions& options);
};
inline constexpr Factory<Zeros> zeros;

struct Ones {
  static constexpr ClassText about{"Ones", "Ones."};
  static InitializerPtr make(const NoOptions& options);
};
inline constexpr Factory<Ones> ones;

/// A number, or an array that is broadcast. Throws Error(shape) if the result has another shape than the weight.
struct Constant {
  static constexpr ClassText about{"Constant", "A number, or an array that is broadcast."};
  static InitializerPtr make(const ConstantOptions& options);
};
inline constexpr Factory<Constant> constant;

struct RandomNormal {
  static constexpr ClassText about{"RandomNormal", "Draws from a normal distribution."};
  static InitializerPtr make(const RandomOptions& options);
};
inline constexpr Factory<RandomNormal> random_normal;

struct TruncatedNormal {
  static constexpr ClassText about{"TruncatedNormal",
                                   "Draws from a normal distribution, truncated at two standard deviations."};
  static InitializerPtr make(const RandomOptions& options);
};
inline constexpr Factory<TruncatedNormal> truncated_normal;

struct RandomUniform {
  static constexpr ClassText about{"RandomUniform", "Draws from a uniform distribution."};
  static InitializerPtr make(const UniformOptions& options);
};
inline constexpr Factory<RandomUniform> random_uniform;

/// Variance scaling: uniform within ±sqrt(3 scale / fan), or a normal distribution truncated at two sigma with
/// the standard deviation sqrt(scale / fan). glorot: scale 1 over the mean of fan_in and fan_out; he: 2 / fan_in;
/// lecun: 1 / fan_in.
struct GlorotUniform {
  static constexpr ClassText about{"GlorotUniform", "Uniform within ±sqrt(6 / (fan_in + fan_out))."};
  static InitializerPtr make(const SeedOptions& options);
};
inline constexpr Factory<GlorotUniform> glorot_uniform;

struct GlorotNormal {
  static constexpr ClassText about{"GlorotNormal",
                                   "Truncated normal with the standard deviation sqrt(2 / (fan_in + fan_out))."};
  static InitializerPtr make(const SeedOptions& options);
};
inline constexpr Factory<GlorotNormal> glorot_normal;

struct HeUniform {
  static constexpr ClassText about{"HeUniform", "Uniform within ±sqrt(6 / fan_in)."};
  static InitializerPtr make(const SeedOptions& options);
};
inline constexpr Factory<HeUniform> he_uniform;

struct HeNormal {
  static constexpr ClassText about{"HeNormal", "Truncated normal with the standard deviation sqrt(2 / fan_in)."};
  static InitializerPtr make(const SeedOptions& options);
};
inline constexpr Factory<HeNormal> he_normal;

struct LecunUniform {
  static constexpr ClassText about{"LecunUniform", "Uniform within ±sqrt(3 / fan_in)."};
  static InitializerPtr make(const SeedOptions& options);
};
inline constexpr Factory<LecunUniform> lecun_uniform;

struct LecunNormal {
  static constexpr ClassText about{"LecunNormal", "Truncated normal with the standard deviation sqrt(1 / fan_in)."};
  static InitializerPtr make(const SeedOptions& options);
};
inline constexpr Factory<LecunNormal> lecun_normal;

/// A matrix with orthonormal columns (or rows if there are fewer rows) times `gain`; with more axes, all but the last
/// are rows. The diagonal of R in its factorization is not negative, as in Keras; for one seed the bits are the same on
/// every target. Throws Error(shape) for shapes of fewer than two axes. Source: Saxe et al., 2014.
struct Orthogonal {
  static constexpr ClassText about{"Orthogonal", "Matrix with orthonormal columns, or rows if there are fewer rows."};
  static InitializerPtr make(const OrthogonalOptions& options);
};
inline constexpr Factory<Orthogonal> orthogonal;

/// The family of initializers. To add an initializer, add it here.
using Initializers = ClassList<Zeros, Ones, Constant, RandomNormal, TruncatedNormal, RandomUniform, GlorotUniform,
                               GlorotNormal, HeUniform, HeNormal, LecunUniform, LecunNormal, Orthogonal>;

/// Finds an initializer by name, or returns the object; throws Error(value), listing all names, for an unknown name.
InitializerPtr get(const Choice<Initializer>& choice);

}  // namespace initializers
}  // namespace etude
