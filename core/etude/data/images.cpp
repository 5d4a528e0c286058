#include "etude/data/images.hpp"

#include <algorithm>
#include <array>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/data/detail/image_formats.hpp"
#include "etude/data/detail/resize_image.hpp"

namespace etude::images {

void check_pixels(std::uint64_t height, std::uint64_t width, std::string_view where) {
  constexpr std::uint64_t most = std::uint64_t{1} << 27;
  check(height > 0 && width > 0 && height <= most / width, ErrorKind::data, where, "an image of ", height, " x ", width,
        " pixels - expected 1 to 2^27 pixels - check the file, or make it smaller.");
}

std::int64_t channels_of(std::string_view color_mode, std::string_view where) {
  check(color_mode == "rgb" || color_mode == "rgba" || color_mode == "grayscale", ErrorKind::value, where,
        "color_mode = \"", color_mode, "\" - expected \"rgb\", \"rgba\" or \"grayscale\" - choose one.");
  return color_mode == "grayscale" ? 1 : std::ssize(color_mode);
}

namespace {

using Pixel = std::array<std::uint8_t, 4>;

/// A pixel of 1 to 4 channels as RGBA.
Pixel rgba_of(const std::uint8_t* from, std::int64_t channels) {
  if (channels < 3) return {from[0], from[0], from[0], channels == 2 ? from[1] : std::uint8_t{255}};
  return {from[0], from[1], from[2], channels == 4 ? from[3] : std::uint8_t{255}};
}

/// The brightness by Rec. 601, rounded; that of a gray pixel is its own.
std::uint8_t gray_of(const Pixel& pixel) {
  return static_cast<std::uint8_t>((299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2] + 500) / 1000);
}

}  // namespace

Tensor with_channels(const Tensor& image, std::int64_t channels, std::string_view where) {
  const Shape& shape = image.shape();
  check(image && image.dtype() == DType::uint8 && shape.rank() == 3 && shape[2] >= 1 && shape[2] <= 4, ErrorKind::data,
        where, "pixels ", image.dtype(), ' ', shape,
        " - expected uint8 of shape [height, width, channels] with 1 to 4 channels - check the decoder.");
  check_pixels(static_cast<std::uint64_t>(shape[0]), static_cast<std::uint64_t>(shape[1]), where);
  if (shape[2] == channels) return image;
  Tensor result = Tensor::uninitialized({shape[0], shape[1], channels}, DType::uint8);
  const std::uint8_t* from = image.data<std::uint8_t>().data();
  std::uint8_t* to = result.data<std::uint8_t>().data();
  for (std::int64_t i = 0; i < shape[0] * shape[1]; ++i, from += shape[2], to += channels) {
    const Pixel pixel = rgba_of(from, shape[2]);
    if (channels == 1)
      *to = gray_of(pixel);
    else
      std::copy_n(pixel.begin(), channels, to);
  }
  return result;
}

}  // namespace etude::images

namespace etude::utils {
namespace {

bool begins_with(std::span<const std::byte> bytes, std::string_view signature) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(signature);
}

Tensor decoded(std::span<const std::byte> bytes, std::string_view where) {
  if (begins_with(bytes, "\x89PNG\r\n\x1a\n")) return images::decode_png(bytes, where);
  if (begins_with(bytes, "\xff\xd8\xff")) return images::decode_jpeg(bytes, where);
  const char* format = begins_with(bytes, "GIF8")   ? "a GIF image"
                       : begins_with(bytes, "BM")   ? "a BMP image"
                       : begins_with(bytes, "RIFF") ? "a WebP image"
                                                    : "bytes of another format";
  fail(ErrorKind::data, where, format, " - expected PNG or JPEG - convert the file, or leave it out.");
}

}  // namespace

std::vector<std::string> image_formats() {
  std::vector<std::string> formats;
  if (images::has_png()) formats.emplace_back("png");
  if (images::has_jpeg()) formats.emplace_back("jpeg");
  return formats;
}

Tensor decode_image(std::span<const std::byte> bytes, const std::string& color_mode, std::string_view where) {
  const std::int64_t channels = images::channels_of(color_mode, where);
  return images::with_channels(decoded(bytes, where), channels, where);
}

Tensor load_img(const std::string& path, const LoadImgOptions& options) {
  return load_img(decoded(read_file(path), path), options, path);
}

Tensor load_img(const Tensor& pixels, const LoadImgOptions& options, std::string_view where) {
  constexpr const char* caller = "utils.load_img";
  const std::int64_t channels = images::channels_of(options.color_mode, caller);
  images::Resize resize;
  if (!options.target_size.empty()) {
    const auto fit = options.keep_aspect_ratio ? images::Fit::crop : images::Fit::stretch;
    resize = images::resize_of(options.target_size, "target_size", options.interpolation, fit, caller);
  }
  const Tensor image = images::with_channels(pixels, channels, where);
  return options.target_size.empty() ? image.astype(DType::float32) : images::resized(image, resize);
}

}  // namespace etude::utils
