#include "etude/layers/noise.hpp"

#include <cmath>

#include "etude/base/error.hpp"
#include "etude/layers/detail/data_format.hpp"
#include "etude/layers/spatial.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"

namespace etude {

RandomKey RandomLayer::key_for(const std::optional<std::int64_t>& seed) {
  if (seed) return {static_cast<std::uint64_t>(*seed), 0};
  return {random_seed(), next_random_stream()};
}

Value RandomLayer::next_call() {
  const Value calls = Graph::current().read(calls_);
  Graph::current().assign(calls_, calls + 1);
  return calls;
}

void RandomLayer::check_rate(double rate, bool below_one) const {
  check(rate >= 0 && (below_one ? rate < 1 : rate <= 1), ErrorKind::value, where(), "rate = ", rate,
        " - expected a number from 0 to ", below_one ? "less than " : "", "1 - set the rate.");
}

Shape RandomLayer::noise_shape(const std::optional<Shape>& given, const Shape& x) const {
  if (!given) return x;
  Shape shape = *given;
  bool fits = shape.rank() == x.rank();
  for (std::ptrdiff_t axis = 0; fits && axis < static_cast<std::ptrdiff_t>(shape.rank()); ++axis) {
    if (shape[axis] == -1) shape[axis] = x[axis];
    fits = shape[axis] == 1 || shape[axis] == x[axis];
  }
  check(fits, ErrorKind::shape, where(), "noise_shape = ", *given, " for input of shape ", x,
        " - expected each extent of the input, 1, or -1, which stands for the input's - set noise_shape.");
  return shape;
}

Dropout::Dropout(DropoutOptions options)
    : RandomLayer(class_entry<Dropout>, std::move(options)), options_(described_options<DropoutOptions>()) {
  check_rate(options_.rate, false);
}

Value Dropout::call(Value x, bool training) {
  const double rate = options_.rate;
  if (!training || rate == 0) return x;
  const Shape shape = noise_shape(options_.noise_shape, x.shape());
  if (shape == x.shape()) return ops::dropout(x, rate, key().seed, key().stream, next_call());
  return x * ops::dropout(ops::ones(shape, x.dtype()), rate, key().seed, key().stream, next_call());
}

GaussianDropout::GaussianDropout(const GaussianDropoutOptions& options)
    : RandomLayer(class_entry<GaussianDropout>, options), rate_(options.rate) {
  check_rate(rate_, true);
}

Value GaussianDropout::call(Value x, bool training) {
  if (!training || rate_ == 0) return x;
  const double stddev = std::sqrt(rate_ / (1 - rate_));
  return x * (ops::normal(x.shape(), x.dtype(), key().seed, key().stream, next_call()) * stddev + 1);
}

AlphaDropout::AlphaDropout(AlphaDropoutOptions options)
    : RandomLayer(class_entry<AlphaDropout>, std::move(options)), options_(described_options<AlphaDropoutOptions>()) {
  check_rate(options_.rate, true);
}

Value AlphaDropout::call(Value x, bool training) {
  const double rate = options_.rate;
  if (!training || rate == 0) return x;
  constexpr double dropped = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946;  // selu(-infinity)
  const double scale = 1 / std::sqrt((1 - rate) * (1 + rate * dropped * dropped));
  const Shape shape = noise_shape(options_.noise_shape, x.shape());
  const Value draws = ops::uniform(shape, DType::float32, key().seed, key().stream, next_call());
  const Value kept = ops::cast(ops::greater_equal(draws, ops::scalar(rate, draws)), x.dtype());
  return (x * kept + (1 - kept) * dropped) * scale - scale * dropped * rate;
}

void SpatialDropout::set_data_format(const std::string& data_format) {
  channels_first_ = is_channels_first(data_format, where());
}

Value SpatialDropout::call(Value x, bool training) {
  spatial::check_rank(x.shape(), rank_, channels_first_, where());
  if (!training || rate_ == 0) return x;
  Shape shape = x.shape();
  for (std::size_t axis = 0; axis < rank_; ++axis)
    shape[static_cast<std::ptrdiff_t>(axis + (channels_first_ ? 2 : 1))] = 1;
  return x * ops::dropout(ops::ones(shape, x.dtype()), rate_, key().seed, key().stream, next_call());
}

GaussianNoise::GaussianNoise(GaussianNoiseOptions options)
    : RandomLayer(class_entry<GaussianNoise>, options), stddev_(options.stddev) {
  check(stddev_ >= 0, ErrorKind::value, where(), "stddev = ", stddev_,
        " - expected a number of 0 or more - set stddev.");
}

Value GaussianNoise::call(Value x, bool training) {
  if (!training || stddev_ == 0) return x;
  return x + ops::normal(x.shape(), x.dtype(), key().seed, key().stream, next_call()) * stddev_;
}

SpatialDropout1D::SpatialDropout1D(const StepsDropoutOptions& options)
    : SpatialDropout(class_entry<SpatialDropout1D>, options, 1) {}
SpatialDropout2D::SpatialDropout2D(const SpatialDropoutOptions& options)
    : SpatialDropout(class_entry<SpatialDropout2D>, options, 2) {}
SpatialDropout3D::SpatialDropout3D(const SpatialDropoutOptions& options)
    : SpatialDropout(class_entry<SpatialDropout3D>, options, 3) {}

}  // namespace etude
