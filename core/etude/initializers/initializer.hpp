#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "etude/base/choice.hpp"
#include "etude/base/integers.hpp"
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
  template <class O = ConstantOptions> static constexpr auto fields() {
    return option_rows(option<&O::value>("Number, or array that is broadcast to the shape of the weight."));
  }
};
struct RandomOptions {
  double mean = 0, stddev = 0.05;
  std::optional<std::int64_t> seed{};
  template <class O = RandomOptions> static constexpr auto fields() {
    return option_rows(option<&O::mean>("Mean of the normal distribution."),
                       option<&O::stddev>("Standard deviation of the normal distribution."),
                       option<&O::seed>("Seed of the random draws. Default: derived from the global seed."));
  }
};
struct UniformOptions {
  double minval = -0.05, maxval = 0.05;
  std::optional<std::int64_t> seed{};
  template <class O = UniformOptions> static constexpr auto fields() {
    return option_rows(option<&O::minval>("Lower bound of the values."),
                       option<&O::maxval>("Upper bound of the values."),
                       option<&O::seed>("Seed of the random draws. Default: derived from the global seed."));
  }
};
/// The rows of those whose variance depends on the shape of the weight.
template <class Options> constexpr auto scaled_fields() {
  return option_rows(
      option<&Options::seed>("Seed of the random draws. Default: derived from the global seed."),
      option<&Options::input_axes>("Axes of the weight that are inputs, if output_axes are given too. Default: those "
                                   "of a kernel [.., inputs, outputs]."),
      option<&Options::output_axes>("Axes of the weight that are outputs, if input_axes are given too."));
}
struct ScaledOptions {
  std::optional<std::int64_t> seed{};
  Integers input_axes = {}, output_axes = {};
  template <class O = ScaledOptions> static constexpr auto fields() { return option_rows(scaled_fields<O>()); }
};

struct OrthogonalOptions {
  double gain = 1;
  std::optional<std::int64_t> seed{};
  template <class O = OrthogonalOptions> static constexpr auto fields() {
    return option_rows(option<&O::gain>("Factor of the matrix."),
                       option<&O::seed>("Seed of the random draws. Default: derived from the global seed."));
  }
};

struct VarianceScalingOptions {
  double scale = 1;
  std::string mode = "fan_in";
  std::string distribution = "truncated_normal";
  std::optional<std::int64_t> seed{};
  Integers input_axes = {}, output_axes = {};
  template <class O = VarianceScalingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::scale>("Factor of the variance."),
        option<&O::mode>("By what the variance is divided: \"fan_in\", the number of inputs of a result; "
                         "\"fan_out\", the number of results of an input; \"fan_avg\", the mean of both."),
        option<&O::distribution>("\"truncated_normal\", at two standard deviations, \"untruncated_normal\" or "
                                 "\"uniform\"."),
        scaled_fields<O>());
  }
};
struct IdentityOptions {
  double gain = 1;
  template <class O = IdentityOptions> static constexpr auto fields() {
    return option_rows(option<&O::gain>("Factor of the matrix."));
  }
};
struct STFTOptions {
  std::string side = "real";
  std::optional<std::string> window = "hann", scaling = "density";
  bool periodic = false;
  template <class O = STFTOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::side>("\"real\" or \"imag\": the part of the transform."),
        option<&O::window>("Window of a frame: \"hann\", \"hamming\", \"blackman\", \"blackmanharris\", "
                           "\"nuttall\", \"flattop\" or \"boxcar\"; null: none."),
        option<&O::scaling>("Norm of the window that becomes 1: \"density\", the root of the sum of squares, or "
                            "\"spectrum\", the sum of magnitudes; null: no scaling."),
        option<&O::periodic>("Whether the window continues after the frame: its last value is omitted."));
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

/// Draws with the variance scale / fan. Throws Error(value) for a scale of 0 or less, another mode or
/// distribution, and only one of input_axes and output_axes; Error(shape) for axes that the weight does not have.
struct VarianceScaling {
  static constexpr ClassText about{"VarianceScaling", "Draws with a variance that depends on the shape of the weight."};
  static InitializerPtr make(const VarianceScalingOptions& options);
};
inline constexpr Factory<VarianceScaling> variance_scaling;

/// Variance scaling: uniform within ±sqrt(3 scale / fan), or a normal distribution truncated at two sigma with
/// the standard deviation sqrt(scale / fan). glorot: scale 1 over the mean of fan_in and fan_out; he: 2 / fan_in;
/// lecun: 1 / fan_in. All throw as VarianceScaling does for axes.
struct GlorotUniform {
  static constexpr ClassText about{"GlorotUniform", "Uniform within ±sqrt(6 / (fan_in + fan_out))."};
  static InitializerPtr make(const ScaledOptions& options);
};
inline constexpr Factory<GlorotUniform> glorot_uniform;

struct GlorotNormal {
  static constexpr ClassText about{"GlorotNormal",
                                   "Truncated normal with the standard deviation sqrt(2 / (fan_in + fan_out))."};
  static InitializerPtr make(const ScaledOptions& options);
};
inline constexpr Factory<GlorotNormal> glorot_normal;

struct HeUniform {
  static constexpr ClassText about{"HeUniform", "Uniform within ±sqrt(6 / fan_in)."};
  static InitializerPtr make(const ScaledOptions& options);
};
inline constexpr Factory<HeUniform> he_uniform;

struct HeNormal {
  static constexpr ClassText about{"HeNormal", "Truncated normal with the standard deviation sqrt(2 / fan_in)."};
  static InitializerPtr make(const ScaledOptions& options);
};
inline constexpr Factory<HeNormal> he_normal;

struct LecunUniform {
  static constexpr ClassText about{"LecunUniform", "Uniform within ±sqrt(3 / fan_in)."};
  static InitializerPtr make(const ScaledOptions& options);
};
inline constexpr Factory<LecunUniform> lecun_uniform;

struct LecunNormal {
  static constexpr ClassText about{"LecunNormal", "Truncated normal with the standard deviation sqrt(1 / fan_in)."};
  static InitializerPtr make(const ScaledOptions& options);
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

/// gain on the diagonal, 0 elsewhere. Throws Error(shape) unless the weight is a matrix.
struct Identity {
  static constexpr ClassText about{"Identity", "Matrix with a gain on its diagonal, and zeros."};
  static InitializerPtr make(const IdentityOptions& options);
};
inline constexpr Factory<Identity> identity;

/// The kernel of a convolution that computes the short-time Fourier transform of a signal: cos or sin(-2 pi t k / n)
/// times the window, [frame, 1, frequencies] with n = 2 (frequencies - 1). Throws Error(value) for another side, window
/// or scaling, Error(shape) for other shapes. Source: keras/src/initializers/constant_initializers.py.
struct STFT {
  static constexpr ClassText about{"STFT", "Kernel of a convolution that computes a short-time Fourier transform."};
  static InitializerPtr make(const STFTOptions& options);
};
inline constexpr Factory<STFT> stft;

/// The family of initializers. To add an initializer, add it here.
using Initializers =
    ClassList<Zeros, Ones, Constant, RandomNormal, TruncatedNormal, RandomUniform, VarianceScaling, GlorotUniform,
              GlorotNormal, HeUniform, HeNormal, LecunUniform, LecunNormal, Orthogonal, Identity, STFT>;

/// Finds an initializer by name, or returns the object; throws Error(value), listing all names, for an unknown name.
InitializerPtr get(const Choice<Initializer>& choice);

}  // namespace initializers
}  // namespace etude
