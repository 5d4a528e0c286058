#include "etude/layers/preprocessing_mixing.hpp"

#include <numbers>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

using image_ops::fractions;

RandomErasing::RandomErasing(const RandomErasingOptions& options)
    : RandomImageLayer(class_entry<RandomErasing>, options),
      factor_(image_ops::range_of("factor", options.factor, fractions, 0, where())),
      scale_(image_ops::range_of("scale", options.scale, fractions, 0, where())),
      value_range_(image_ops::value_range_of(options.value_range, where())),
      fill_value_(options.fill_value.all()) {}

Value RandomErasing::transform(Value images) {
  const std::int64_t channels = images.shape()[3];
  Value fill;
  if (fill_value_.empty()) {
    fill = ops::normal(images.shape(), images.dtype(), key().seed, key().stream, next_call()) * value_range_.high;
  } else {
    check(fill_value_.size() == 1 || std::ssize(fill_value_) == channels, ErrorKind::shape, where(), fill_value_.size(),
          " numbers as fill_value for ", channels,
          " channels - expected one, or one for each channel - set fill_value.");
    std::vector<Value> values;
    for (const double number : fill_value_) values.push_back(ops::full({1, 1, 1, 1}, number, images.dtype()));
    fill = ops::concatenate(values, 3);
  }
  const std::vector<Value> drawn = draws(images, {scale_, scale_, fractions, fractions, factor_, fractions});
  const Value box = image_ops::in_box(images, ops::sqrt(drawn[0]), ops::sqrt(drawn[1]), drawn[2], drawn[3]);
  return ops::where(ops::logical_and(box, ops::less(drawn[5], drawn[4])),
                    ops::clip(fill, value_range_.low, value_range_.high), images);
}

Value MixingLayer::call(Value x, bool training) { return call_with({x}, training); }
Value MixingLayer::transform(Value images) { return images; }

Outputs MixingLayer::call_with(const std::vector<Value>& inputs, bool training) {
  check(inputs.size() == 1 || inputs.size() == 2, ErrorKind::value, where(), "called on ", inputs.size(),
        " inputs - expected images, or images and labels - pass them as a list of two.");
  const Value x = inputs.front();
  check_images(x);
  if (!training || x.shape().size() == 0) return inputs;
  const std::int64_t batch = x.shape()[0];
  // A random order of the batch: the rank of each image's draw among all draws.
  Value order, share;
  const Value y = on_images(x, [&](Value images) {
    const Value drawn = draws(images, {fractions})[0];
    const Value own = ops::reshape(drawn, {batch, 1}), other = ops::reshape(drawn, {1, batch});
    const Value places = ops::reshape(image_ops::arange(batch, 0, images), {batch, 1});
    const Value is_before =
        ops::logical_and(ops::equal(other, own), ops::less(ops::reshape(places, {1, batch}), places));
    const Value precedes = ops::logical_or(ops::less(other, own), is_before);
    order = ops::cast(ops::sum(ops::cast(precedes, drawn.dtype()), {1}), DType::int32);
    const Mixed result = mixed(images, ops::take(images, order));
    share = result.share;
    return result.images;
  });
  if (inputs.size() == 1) return y;
  const Value labels = ops::upcast(inputs[1]);
  check(labels.shape().rank() > 0 && labels.shape()[0] == batch, ErrorKind::shape, where(), "labels of shape ",
        labels.shape(), " for ", batch, " images - expected [", batch, ", ..] - pass one row for each image.");
  Shape along{batch};
  while (along.rank() < labels.shape().rank()) along.append(1);
  const Value weight = ops::reshape(share, along);
  return std::vector{y, ops::cast(weight * labels + (1 - weight) * ops::take(labels, order), inputs[1].dtype())};
}

/// Source: Devroye, "Random variate generation in one line of code", WSC 1996.
Value MixingLayer::beta(Value images, Value alpha) {
  const std::vector<Value> drawn = draws(images, {fractions, {0, 2 * std::numbers::pi}, {-1, 1}});
  const Value power = ops::exp(-ops::log(1 - drawn[0]) / alpha);
  const Value distance = 0.5 / ops::sqrt(1 + 1 / ((power - 1) * ops::square(ops::cos(drawn[1]))));
  return ops::where(ops::less(drawn[2], ops::scalar(0, drawn[2])), 0.5 - distance, 0.5 + distance);
}

MixUp::MixUp(const MixUpOptions& options) : MixingLayer(class_entry<MixUp>, options), alpha_(options.alpha) {
  check(alpha_ > 0, ErrorKind::value, where(), "alpha = ", alpha_, " - expected a positive number - set alpha.");
}

MixingLayer::Mixed MixUp::mixed(Value images, Value others) {
  const Value share = beta(images, ops::full({}, alpha_, images.dtype()));
  return {share * images + (1 - share) * others, share};
}

CutMix::CutMix(const CutMixOptions& options)
    : MixingLayer(class_entry<CutMix>, options),
      factor_(image_ops::range_of("factor", options.factor, fractions, 0, where())) {}

MixingLayer::Mixed CutMix::mixed(Value images, Value others) {
  const Value side = ops::sqrt(1 - beta(images, draw(images, factor_) + 1e-6));
  const std::vector<Value> place = draws(images, {fractions, fractions});
  const Value box = image_ops::in_box(images, side, side, place[0], place[1]);
  return {ops::where(box, others, images), 1 - ops::square(side)};
}

}  // namespace etude
