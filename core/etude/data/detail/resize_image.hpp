#pragma once

/// Private to core/data: images of another size, with the numbers of the layer Resizing. A layer is traced for each
/// size of its inputs; the images of a folder may all have different sizes.
#include <cstdint>
#include <string_view>

#include "etude/base/integers.hpp"
#include "etude/base/tensor.hpp"

namespace etude::images {

/// The treatment of another aspect ratio: the image is stretched; margins of it are cut off; margins of zeros are
/// added.
enum class Fit : std::uint8_t { stretch, crop, pad };

struct Resize {
  std::int64_t height = 0, width = 0;
  bool nearest = false;
  Fit fit = Fit::stretch;
  bool channels_first = false;
};

/// From the options of a user; `name` is that of the size. One number is both the height and the width.
/// Throws Error(value) unless they are positive and less than 2^31, and for an unknown interpolation.
Resize resize_of(const Integers& given, const char* name, std::string_view interpolation, Fit fit,
                 std::string_view where);

/// float32 [height, width, channels], or [channels, height, width], for an image uint8 [.., .., channels] with pixels.
Tensor resized(const Tensor& image, const Resize& to);

}  // namespace etude::images
