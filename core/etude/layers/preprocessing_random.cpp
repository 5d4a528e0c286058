#include "etude/layers/preprocessing_random.hpp"

#include <numbers>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/layers/detail/data_format.hpp"
#include "etude/layers/spatial.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

void RandomImageLayer::set_data_format(const std::string& data_format) {
  channels_first_ = is_channels_first(data_format, where());
}

Value RandomImageLayer::call(Value x, bool training) {
  check_images(x);
  if (!training || x.shape().size() == 0) return x;
  return on_images(x, [&](Value images) { return transform(images); });
}

void RandomImageLayer::check_images(Value x) const { spatial::check_rank(x.shape(), 2, channels_first_, where()); }

Value RandomImageLayer::on_images(Value x, const std::function<Value(Value)>& function) const {
  return image_ops::transformed(x, channels_first_, where(), function);
}

std::vector<Value> RandomImageLayer::draws(Value images, std::initializer_list<image_ops::Range> ranges) {
  const std::int64_t batch = images.shape()[0], count = std::ssize(ranges);
  const Value all = ops::uniform({batch, count}, images.dtype(), key().seed, key().stream, next_call());
  std::vector<Value> result;
  for (const image_ops::Range& range : ranges) {
    const Value drawn = ops::reshape(ops::slice(all, 1, std::ssize(result), 1), {batch, 1, 1, 1});
    result.push_back(drawn * (range.high - range.low) + range.low);
  }
  return result;
}

Value RandomImageLayer::draw(Value images, image_ops::Range range) {
  return ops::uniform({}, images.dtype(), key().seed, key().stream, next_call()) * (range.high - range.low) + range.low;
}

RandomFlip::RandomFlip(RandomFlipOptions options)
    : RandomImageLayer(class_entry<RandomFlip>, options), options_(described_options<RandomFlipOptions>()) {
  const std::string& mode = options_.mode;
  check(mode == "horizontal" || mode == "vertical" || mode == "horizontal_and_vertical", ErrorKind::value, where(),
        "mode = \"", mode, "\" - expected \"horizontal\", \"vertical\" or \"horizontal_and_vertical\" - choose one.");
}

Value RandomFlip::transform(Value images) {
  const Value drawn = draws(images, {{0, 1}})[0];
  Value flipped = images;
  if (options_.mode != "vertical") flipped = ops::reverse(flipped, 2);
  if (options_.mode != "horizontal") flipped = ops::reverse(flipped, 1);
  return ops::where(ops::less(drawn, ops::scalar(0.5, drawn)), flipped, images);
}

RandomCrop::RandomCrop(RandomCropOptions options)
    : RandomImageLayer(class_entry<RandomCrop>, options), options_(described_options<RandomCropOptions>()) {
  image_ops::check_size(options_.height, options_.width, where());
}

/// As in Keras 2: Keras 3 does not change images outside of training.
Value RandomCrop::call(Value x, bool training) {
  return on_images(x, [&](Value images) { return training ? transform(images) : central(images); });
}

Value RandomCrop::transform(Value images) {
  const std::int64_t rows = images.shape()[1] - options_.height, columns = images.shape()[2] - options_.width;
  if (rows < 0 || columns < 0) return central(images);
  const auto places = [&](std::int64_t last, std::int64_t count, std::ptrdiff_t axis) {
    const Value first = ops::floor(draw(images, {0, static_cast<double>(last + 1)}));
    return ops::clip(first, 0, static_cast<double>(last)) + image_ops::arange(count, axis, images);
  };
  const Value y = places(rows, options_.height, 1), x = places(columns, options_.width, 2);
  return image_ops::pixels_at(images, y, x);
}

Value RandomCrop::central(Value images) const {
  image_ops::check_pixels(images, where());
  const std::int64_t height = options_.height, width = options_.width;
  return image_ops::resized(image_ops::cropped_to_aspect_ratio(images, height, width), height, width,
                            image_ops::Interpolation::bilinear, false);
}

Value RandomTransform::transform(Value images) {
  return image_ops::affine_transform(images, affine(images), sampling_);
}

namespace {

/// A function that scales coordinates around the center of images.
image_ops::Affine zoomed(Value images, Value x, Value y) {
  const Value none = ops::scalar(0, x);
  const auto offset = [&](std::ptrdiff_t axis, Value factor) {
    return (1 - factor) * (static_cast<double>(images.shape()[axis] - 1) / 2);
  };
  return {x, none, offset(2, x), none, y, offset(1, y)};
}

}  // namespace

RandomTranslation::RandomTranslation(const RandomTranslationOptions& options)
    : RandomTransform(class_entry<RandomTranslation>, options),
      height_(image_ops::range_of("height_factor", options.height_factor, {-1, 1}, -1, where())),
      width_(image_ops::range_of("width_factor", options.width_factor, {-1, 1}, -1, where())) {}

image_ops::Affine RandomTranslation::affine(Value images) {
  const std::vector<Value> shift = draws(images, {height_, width_});
  const Value none = ops::scalar(0, shift[0]), one = ops::scalar(1, shift[0]);
  const auto pixels = [&](std::size_t i) { return shift[i] * -static_cast<double>(images.shape()[i == 0 ? 1 : 2]); };
  return {one, none, pixels(1), none, one, pixels(0)};
}

RandomZoom::RandomZoom(const RandomZoomOptions& options)
    : RandomTransform(class_entry<RandomZoom>, options),
      height_(image_ops::range_of("height_factor", options.height_factor, {-1, 1}, -1, where())),
      width_(options.width_factor.empty()
                 ? height_
                 : image_ops::range_of("width_factor", options.width_factor, {-1, 1}, -1, where())),
      keeps_ratio_(options.width_factor.empty()) {}

image_ops::Affine RandomZoom::affine(Value images) {
  const std::vector<Value> growth = draws(images, {height_, width_});
  return zoomed(images, growth[keeps_ratio_ ? 0 : 1] + 1, growth[0] + 1);
}

RandomRotation::RandomRotation(const RandomRotationOptions& options)
    : RandomTransform(class_entry<RandomRotation>, options),
      turns_(image_ops::range_of("factor", options.factor, {-1, 1}, -1, where())) {}

image_ops::Affine RandomRotation::affine(Value images) {
  const Value angle = draws(images, {turns_})[0] * (2 * std::numbers::pi);
  const Value cos = ops::cos(angle), sin = ops::sin(angle);
  const double x = static_cast<double>(images.shape()[2] - 1) / 2, y = static_cast<double>(images.shape()[1] - 1) / 2;
  return {cos, -sin, x - cos * x + sin * y, sin, cos, y - sin * x - cos * y};
}

RandomShear::RandomShear(const RandomShearOptions& options)
    : RandomTransform(class_entry<RandomShear>, options),
      x_(image_ops::range_of("x_factor", options.x_factor, {0, 1}, -1, where())),
      y_(image_ops::range_of("y_factor", options.y_factor, {0, 1}, -1, where())) {}

image_ops::Affine RandomShear::affine(Value images) {
  const std::vector<Value> drawn = draws(images, {x_, y_, {-1, 1}});
  const Value direction =
      ops::where(ops::less(drawn[2], ops::scalar(0, drawn[2])), ops::scalar(-1, drawn[2]), ops::scalar(1, drawn[2]));
  const Value none = ops::scalar(0, direction), one = ops::scalar(1, direction);
  return {one, drawn[0] * direction, none, drawn[1] * direction, one, none};
}

}  // namespace etude
