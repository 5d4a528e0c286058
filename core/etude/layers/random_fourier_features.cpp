#include "etude/layers/random_fourier_features.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"

namespace etude {

namespace {

/// Draws from the Cauchy distribution: quotients of normal draws.
class Cauchy : public Initializer {
 public:
  Tensor operator()(const Shape& shape, DType dtype) override {
    const Tensor over = (*normal_)(shape, DType::float64), under = (*normal_)(shape, DType::float64);
    Tensor result(shape, DType::float64);
    for (std::size_t i = 0; i < result.data<double>().size(); ++i) {
      const double divisor = under.data<double>()[i];
      result.data<double>()[i] = over.data<double>()[i] / (divisor == 0 ? 1e-8 : divisor);
    }
    return result.astype(dtype);
  }
  void skip() override {
    normal_->skip();
    normal_->skip();
  }

 private:
  InitializerPtr normal_ = initializers::random_normal({.stddev = 1});
};

}  // namespace

RandomFourierFeatures::RandomFourierFeatures(RandomFourierFeaturesOptions options)
    : Layer(class_entry<RandomFourierFeatures>, std::move(options)),
      options_(described_options<RandomFourierFeaturesOptions>()) {
  check(options_.output_dim > 0, ErrorKind::value, where(), "output_dim = ", options_.output_dim,
        " - expected a positive number - set output_dim.");
  check(!options_.scale || *options_.scale > 0, ErrorKind::value, where(), "scale = ", options_.scale.value_or(0),
        " - expected a positive number - set scale.");
  const std::string& name = options_.kernel_initializer.name();
  check(options_.kernel_initializer.object() || name == "gaussian" || name == "laplacian", ErrorKind::value, where(),
        "kernel_initializer = \"", name, "\" - expected \"gaussian\", \"laplacian\" or an initializer - choose one.");
  cast_integers();
}

void RandomFourierFeatures::build(const Shape& input_shape) {
  check(input_shape.rank() == 2, ErrorKind::shape, where(), "input of shape ", input_shape,
        " - expected [batch, features] - flatten the samples.");
  const bool is_gaussian = options_.kernel_initializer.name() == "gaussian";
  Choice<Initializer> frequencies = options_.kernel_initializer;
  if (is_gaussian) frequencies = initializers::random_normal({.stddev = 1});
  if (frequencies.name() == "laplacian") frequencies = std::make_shared<Cauchy>();
  const double scale = is_gaussian ? std::sqrt(static_cast<double>(input_shape[1]) / 2) : 1;
  kernel_ = add_weight({.name = "unscaled_kernel",
                        .shape = {input_shape[1], options_.output_dim},
                        .initializer = frequencies,
                        .trainable = false});
  bias_ = add_weight({.name = "bias",
                      .shape = {options_.output_dim},
                      .initializer = initializers::random_uniform({.minval = 0, .maxval = 2 * std::numbers::pi}),
                      .trainable = false});
  scale_ = add_weight({.name = "kernel_scale",
                       .shape = {1},
                       .initializer = initializers::constant({.value = options_.scale.value_or(scale)}),
                       .constraint = "non_neg"});
}

Value RandomFourierFeatures::call(Value x, bool) {
  const std::int64_t features = kernel_.shape()[0];
  check(x.shape().rank() == 2 && x.shape()[1] == features, ErrorKind::shape, where(),
        "expected input of shape [batch, ", features, "], received ", x.shape(), ". The layer was built for ", features,
        " inputs; build a new layer or check the data.");
  // Phases of many turns need all bits of float32.
  const auto wide = [](const Variable& variable) { return ops::upcast(Graph::current().read(variable)); };
  const Value phases = ops::matmul(ops::upcast(x), wide(kernel_) / wide(scale_)) + wide(bias_);
  return ops::cast(ops::cos(phases), x.dtype());
}

}  // namespace etude
