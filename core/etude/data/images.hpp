#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/integers.hpp"
#include "etude/base/tensor.hpp"
#include "etude/classes/field.hpp"

namespace etude::utils {

/// The formats of images that this build reads, some of "png" and "jpeg": those whose libraries, libpng and libjpeg,
/// were there when it was built.
std::vector<std::string> image_formats();

/// The pixels of a PNG or JPEG file that is in memory: uint8 [height, width, channels], of 1 channel for the color_mode
/// "grayscale", 3 for "rgb", 4 for "rgba". Gray is 0.299 red + 0.587 green + 0.114 blue; a file without alpha has the
/// alpha 255, and that of others is left out, not blended. Of 16 bits the upper 8 count. Orientation, gamma and color
/// profiles are ignored, as by Keras. Throws Error(value) for an unknown color_mode, Error(data), whose text begins
/// with `where`, for other formats, damaged files, JPEGs in CMYK and more than 2^27 pixels, Error(state) in builds
/// without the library of the format.
Tensor decode_image(std::span<const std::byte> bytes, const std::string& color_mode = "rgb",
                    std::string_view where = "utils.decode_image");

/// Options of load_img.
struct LoadImgOptions {
  /// "rgb", "rgba" or "grayscale".
  std::string color_mode = "rgb";
  /// The height and the width of the result; one number is both. Default: those of the file.
  Integers target_size = {};
  /// "nearest" or "bilinear".
  std::string interpolation = "nearest";
  /// Whether margins are cut off that do not fit the aspect ratio of target_size.
  bool keep_aspect_ratio = false;

  template <class O = LoadImgOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::color_mode>("\"rgb\", \"rgba\" or \"grayscale\": 3, 4 or 1 channels."),
        option<&O::target_size>(
            "Height and width of the result, in pixels; one number is both. Default: those of the file."),
        option<&O::interpolation>("\"nearest\" or \"bilinear\"."),
        option<&O::keep_aspect_ratio>("Whether margins are cut off that do not fit the new aspect ratio."));
  }
};

/// The image in a PNG or JPEG file: float32 [height, width, channels], from 0 to 255. Resized as by the layer Resizing;
/// Keras resizes here as Pillow does. Throws as decode_image does, with the path; Error(io) if the file cannot be read;
/// Error(value) for wrong options. Source: load_img and img_to_array in keras/src/utils/image_utils.py.
Tensor load_img(const std::string& path, const LoadImgOptions& options = {});
/// The same for pixels of another decoder: uint8 [height, width, channels] with 1 to 4 channels, which are gray, gray
/// and alpha, RGB, or RGBA. Throws Error(data), whose text begins with `where`, for other tensors.
Tensor load_img(const Tensor& pixels, const LoadImgOptions& options, std::string_view where = "utils.load_img");

}  // namespace etude::utils
