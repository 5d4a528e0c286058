#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <functional>
#include <string>
#include <vector>

#include "training_samples.hpp"

/// Images, and the layers that change them.
namespace etude::samples {

/// The classes of layers of images, as {class, config}; `takes_range` for those with a range of values.
struct ImageClass {
  const char* name;
  const char* config = "{}";
  bool takes_range = false;
};
inline const std::vector<ImageClass>& random_image_classes() {
  static const std::vector<ImageClass> all{
      {"RandomFlip"},
      {"RandomTranslation", R"({"height_factor": 0.3, "width_factor": 0.3})"},
      {"RandomZoom", R"({"height_factor": 0.3, "width_factor": 0.2})"},
      {"RandomRotation", R"({"factor": 0.2})"},
      {"RandomShear", R"({"x_factor": 0.4, "y_factor": 0.3})"},
      {"RandomPerspective", R"({"scale": 0.6})"},
      {"RandomElasticTransform", "{}", true},
      {"RandomBrightness", R"({"factor": 0.4})", true},
      {"RandomContrast", R"({"factor": 0.4})", true},
      {"RandomHue", R"({"factor": 0.6})", true},
      {"RandomSaturation", R"({"factor": 0.8})", true},
      {"RandomSharpness", R"({"factor": 1.0})", true},
      {"RandomPosterization", R"({"factor": 6})", true},
      {"RandomInvert", "{}", true},
      {"RandomColorDegeneration", R"({"factor": 0.8})", true},
      {"AugMix", R"({"alpha": 0.5})", true},
      {"RandAugment", R"({"num_ops": 4})", true},
      {"RandomGrayscale"},
      {"RandomColorJitter",
       R"({"brightness_factor": 0.2, "contrast_factor": 0.3, "saturation_factor": 0.7, "hue_factor": 0.5})", true},
      {"RandomGaussianBlur", R"({"kernel_size": [3, 5]})", true},
      {"Solarization", R"({"addition_factor": 0.4, "threshold_factor": 0.6})", true},
      {"RandomErasing", "{}", true},
      {"MixUp"},
      {"CutMix"},
  };
  return all;
}

/// A layer of that class, with some options and further ones, such as R"("seed": 3)".
inline LayerPtr layer_of(const std::string& class_name, std::string config, const std::string& more = {}) {
  if (!more.empty()) config.insert(1, more + (config.size() > 2 ? ", " : ""));
  return from_json<Layer>(R"({"class_name": ")" + class_name + R"(", "config": )" + config + "}");
}

/// Images with values from 0 to 255 that look random.
inline Tensor photos(const Shape& shape, double phase = 0) {
  Tensor images = waves(shape, phase);
  for (float& element : images.data<float>()) element = std::floor(127.5F * (element + 1));
  return images;
}

/// x in the order of `axes`.
inline Tensor transposed(const Tensor& x, const std::vector<std::uint8_t>& axes) {
  return (*layers::permute({.dims = {axes.begin() + 1, axes.end()}}))(x);
}

/// The result in training for `x`.
inline Tensor changed(const LayerPtr& layer, const Tensor& x) { return (*layer)(x, true); }

/// The number of draws of check_uniform.
constexpr std::int64_t many = 400;

/// Draws are distributed evenly in an interval: they come near its ends, and their mean is its middle.
inline void check_uniform(const std::vector<double>& draws, double low, double high) {
  const double range = high - low;
  double sum = 0;
  for (const double draw : draws) sum += draw;
  CAPTURE(low, high);
  CHECK(*std::ranges::min_element(draws) >= low - 1e-4 * range);
  CHECK(*std::ranges::max_element(draws) <= high + 1e-4 * range);
  CHECK(*std::ranges::min_element(draws) <= low + 0.05 * range);
  CHECK(*std::ranges::max_element(draws) >= high - 0.05 * range);
  CHECK_THAT(sum / static_cast<double>(draws.size()), Catch::Matchers::WithinAbs((low + high) / 2, 0.1 * range));
}

}  // namespace etude::samples
