#include "etude/layers/preprocessing_images.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/layers/detail/data_format.hpp"
#include "etude/layers/detail/image_ops.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

void ImageLayer::set_data_format(const std::string& data_format) {
  channels_first_ = is_channels_first(data_format, where());
}

Value ImageLayer::call(Value x, bool training) {
  return image_ops::transformed(x, channels_first_, where(), [&](Value images) { return transform(images, training); });
}

Resizing::Resizing(ResizingOptions options)
    : ImageLayer(class_entry<Resizing>, options), options_(described_options<ResizingOptions>()) {
  image_ops::check_size(options_.height, options_.width, where());
  static_cast<void>(image_ops::interpolation_of(options_.interpolation, where()));
  check(!options_.crop_to_aspect_ratio || !options_.pad_to_aspect_ratio, ErrorKind::value, where(),
        "crop_to_aspect_ratio and pad_to_aspect_ratio - expected at most one of them - set one to false.");
  check(options_.fill_mode == "constant", ErrorKind::value, where(), "fill_mode = \"", options_.fill_mode,
        "\" - expected \"constant\" - leave fill_mode out.");
}

namespace {

/// The least and the largest number of a dtype of integers; float32 holds both.
image_ops::Range range_of(DType dtype) {
  if (dtype == DType::boolean) return {0, 1};
  return dtype == DType::uint8 ? image_ops::Range{0, 255} : image_ops::Range{-0x1p31, 0x1p31 - 128};
}

}  // namespace

Value Resizing::transform(Value images, bool) {
  image_ops::check_pixels(images, where());
  const std::int64_t height = options_.height, width = options_.width;
  const image_ops::Interpolation interpolation = image_ops::interpolation_of(options_.interpolation, where());
  if (options_.crop_to_aspect_ratio) images = image_ops::cropped_to_aspect_ratio(images, height, width);
  const auto result = [&](Value pixels, double fill_value) {
    if (options_.pad_to_aspect_ratio) pixels = image_ops::padded_to_aspect_ratio(pixels, height, width, fill_value);
    return image_ops::resized(pixels, height, width, interpolation, options_.antialias);
  };
  const DType dtype = images.dtype();
  if (is_floating(dtype)) return result(images, options_.fill_value);
  // Without interpolation all int32 stay as they are.
  const image_ops::Range range = range_of(dtype);
  if (interpolation == image_ops::Interpolation::nearest)
    return result(images, std::clamp(std::nearbyint(options_.fill_value), range.low, range.high));
  const Value wide = result(ops::upcast(ops::cast(images, compute_dtype())), options_.fill_value);
  return ops::cast(ops::clip(image_ops::rounded(wide), range.low, range.high), dtype);
}

CenterCrop::CenterCrop(CenterCropOptions options)
    : ImageLayer(class_entry<CenterCrop>, options), options_(described_options<CenterCropOptions>()) {
  image_ops::check_size(options_.height, options_.width, where());
  cast_integers();
}

Value CenterCrop::transform(Value images, bool) {
  image_ops::check_pixels(images, where());
  return image_ops::center_of_size(images, options_.height, options_.width);
}

AutoContrast::AutoContrast(AutoContrastOptions options)
    : ImageLayer(class_entry<AutoContrast>, options), options_(described_options<AutoContrastOptions>()) {
  static_cast<void>(image_ops::value_range_of(options_.value_range, where()));
  cast_integers();
}

Value AutoContrast::transform(Value images, bool) {
  if (images.shape().size() == 0) return images;
  const image_ops::Range range = image_ops::value_range_of(options_.value_range, where());
  const Value x = image_ops::scaled(images, range, image_ops::bytes);
  const Value low = -ops::max(-x, {1, 2}, true), high = ops::max(x, {1, 2}, true);
  const Value differs = ops::less(low, high);
  const Value scale = 255.0 / ops::where(differs, high - low, ops::scalar(1, x));
  const Value stretched = image_ops::scaled(ops::clip(x * scale - low * scale, 0, 255), image_ops::bytes, range);
  return ops::where(differs, stretched, images);
}

Equalization::Equalization(EqualizationOptions options)
    : ImageLayer(class_entry<Equalization>, options), options_(described_options<EqualizationOptions>()) {
  static_cast<void>(image_ops::value_range_of(options_.value_range, where()));
  check(options_.bins >= 2 && options_.bins <= 65536, ErrorKind::value, where(), "bins = ", options_.bins,
        " - expected 2 to 65536 - set bins.");
  cast_integers();
}

Value Equalization::transform(Value images, bool training) {
  const Shape& shape = images.shape();
  if (!training || shape.size() == 0) return images;
  const image_ops::Range range = image_ops::value_range_of(options_.value_range, where());
  const std::int64_t bins = options_.bins, histograms = shape[0] * shape[3];
  const auto most = static_cast<double>(bins - 1);
  const Value x = image_ops::scaled(images, range, image_ops::bytes);
  // Values are in bins of an own histogram for each image and channel.
  const Value first =
      (image_ops::arange(shape[0], 0, x) * static_cast<double>(shape[3]) + image_ops::arange(shape[3], 3, x));
  const auto entry_of = [&](Value bin) {
    const Value number = ops::cast(ops::clip(ops::floor(bin), 0, most), DType::int32);
    return ops::cast(first, DType::int32) * static_cast<double>(bins) + number;
  };
  const Value counts = ops::reshape(
      ops::scatter_add(ops::ones(shape, x.dtype()), entry_of(x * most / 255), histograms * bins), {histograms, bins});
  const Value sums = ops::cumsum(counts, 1);
  const Value none = ops::scalar(0, sums);
  const Value first_sum = -ops::max(
      ops::where(ops::less(none, sums), -sums, ops::scalar(-std::numeric_limits<float>::max(), sums)), {1}, true);
  const Value others = ops::slice(sums, 1, bins - 1, 1) - first_sum;
  const Value table = image_ops::rounded((sums - first_sum) * 255 / ops::maximum(others, ops::scalar(1, others)));
  const Value equalized =
      ops::take(ops::reshape(ops::clip(table, 0, 255), {histograms * bins}), entry_of(x / 255 * most));
  // An image of one value has no other sums.
  const Value differs = ops::reshape(ops::less(none, others), {shape[0], 1, 1, shape[3]});
  return image_ops::scaled(ops::where(differs, equalized, x), image_ops::bytes, range);
}

}  // namespace etude
