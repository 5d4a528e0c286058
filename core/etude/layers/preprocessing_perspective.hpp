#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "etude/base/backend.hpp"
#include "etude/layers/preprocessing_random.hpp"

namespace etude {

struct RandomPerspectiveOptions {
  Doubles factor = 1.0;
  double scale = 1;
  std::string interpolation = "bilinear";
  double fill_value = 0;
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomPerspectiveOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::factor>("Least and greatest probability that an image is changed, from 0 to 1; or one number "
                           "f for 0 to f."),
        option<&O::scale>("Greatest move of corners, as a share of the image, from 0 to 1: half of it in both "
                          "directions."),
        option<&O::interpolation>("\"nearest\" or \"bilinear\"."),
        option<&O::fill_value>("Value of pixels beyond the edges."), random_image_fields<O>());
  }
};

/// In training, moves the corners of images, except the upper left one, and shows them in perspective; otherwise x.
/// Throws Error(value) for numbers out of range and an unknown interpolation. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_perspective.py.
class RandomPerspective : public RandomImageLayer {
 public:
  using Options = RandomPerspectiveOptions;
  static constexpr ClassText about{"RandomPerspective",
                                   "In training, shows images in perspective: [.., height, width, channels] -> [..]."};
  explicit RandomPerspective(RandomPerspectiveOptions options = {});

 protected:
  Value transform(Value images) override;

 private:
  image_ops::Range factor_;
  double scale_;
  image_ops::Sampling sampling_;
};

namespace layers {
inline constexpr Factory<RandomPerspective> random_perspective;
}  // namespace layers

}  // namespace etude
