#include "etude/layers/preprocessing_elastic.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"

namespace etude {

using image_ops::fractions;

namespace {

image_ops::Sampling sampling_of(const RandomElasticTransformOptions& options, const std::string& where) {
  const bool mirrors = options.fill_mode == "mirror";
  image_ops::Sampling sampling =
      image_ops::sampling_of(mirrors ? "reflect" : options.fill_mode, options.interpolation, options.fill_value, where);
  if (mirrors) sampling.fill = image_ops::Sampling::Fill::mirror;
  return sampling;
}

}  // namespace

RandomElasticTransform::RandomElasticTransform(const RandomElasticTransformOptions& options)
    : RandomImageLayer(class_entry<RandomElasticTransform>, options),
      factor_(image_ops::range_of("factor", options.factor, fractions, 0, where())),
      scale_(image_ops::range_of("scale", options.scale, fractions, 0, where())),
      value_range_(image_ops::value_range_of(options.value_range, where())),
      sampling_(sampling_of(options, where())) {}

Value RandomElasticTransform::transform(Value images) {
  if (factor_.high == 0 || scale_.high == 0) return images;
  const std::int64_t height = images.shape()[1], width = images.shape()[2];
  const double spread = 0.05 * static_cast<double>(std::min(height, width));
  const double reach = 0.1 * static_cast<double>(std::max(height, width));
  const Value noise =
      ops::normal({images.shape()[0], height, width, 2}, images.dtype(), key().seed, key().stream, next_call());
  const Value scale = draw(images, scale_);
  const Value distorted =
      image_ops::elastic_transform(images, noise, scale * reach, scale * spread, scale_.high * spread, sampling_);
  const std::vector<Value> drawn = draws(images, {factor_, fractions});
  return ops::clip(ops::where(ops::less(drawn[1], drawn[0]), distorted, images), value_range_.low, value_range_.high);
}

}  // namespace etude
