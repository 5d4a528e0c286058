#pragma once

/// Private to core/data: the decoders of images. Each throws Error(data) for damaged bytes, and Error(state) in builds
/// without its library.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "etude/base/tensor.hpp"

namespace etude::images {

/// Whether this build has the library.
bool has_png();
bool has_jpeg();
/// uint8 [height, width, channels]: gray, gray and alpha, RGB, or RGBA.
Tensor decode_png(std::span<const std::byte> bytes, std::string_view where);
/// uint8 [height, width, channels]: gray or RGB.
Tensor decode_jpeg(std::span<const std::byte> bytes, std::string_view where);

/// Throws Error(data) for images without pixels, or of more than 2^27.
void check_pixels(std::uint64_t height, std::uint64_t width, std::string_view where);
/// Throws Error(value) for another name.
std::int64_t channels_of(std::string_view color_mode, std::string_view where);
/// The image with 1, 3 or 4 channels. Throws Error(data) unless it is uint8 [height, width, 1 to 4].
Tensor with_channels(const Tensor& image, std::int64_t channels, std::string_view where);

}  // namespace etude::images
