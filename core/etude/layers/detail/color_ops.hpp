#pragma once

#include <string_view>

#include "etude/layers/detail/image_ops.hpp"

/// Changes of the colors of images within a trace, each a row of data.
namespace etude::color_ops {

/// The arguments of a change.
struct Arguments {
  /// [batch, height, width, channels].
  Value images;
  /// The strength, and a number in [0, 1): drawn for each image, [batch, 1, 1, 1].
  Value factor, chance;
  /// The least and largest value of a pixel.
  image_ops::Range value_range;
  /// The layer's name in errors.
  std::string_view where;
};

/// A change whose strength is drawn for each image.
struct Change {
  /// Valid numbers of the option, and the least strength if the option is one number.
  image_ops::Range bounds;
  double floor;
  /// Whether strengths are from 1 minus the first number to 1 plus the second one.
  bool around_one;
  Value (*apply)(const Arguments& given);
};

/// The strengths that a change draws for an option.
image_ops::Range strengths(const Change& change, const char* name, const Doubles& given, std::string_view where);

/// Sources: keras/src/layers/preprocessing/image_preprocessing/random_….py.
extern const Change brightness, contrast, degeneration, grayscale, hue, inversion, posterization, saturation, sharpness;

}  // namespace etude::color_ops
