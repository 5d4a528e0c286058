#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "etude/base/backend.hpp"
#include "etude/layers/preprocessing_random.hpp"

namespace etude {

struct RandomElasticTransformOptions {
  Doubles factor = 1.0;
  Doubles scale = 1.0;
  std::string interpolation = "bilinear";
  std::string fill_mode = "reflect";
  double fill_value = 0;
  Doubles value_range = {0, 255};
  std::optional<std::int64_t> seed = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = RandomElasticTransformOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::factor>("Least and greatest probability that an image is changed, from 0 to 1; or one number "
                           "f for 0 to f."),
        option<&O::scale>("Least and greatest strength, from 0 to 1, drawn for each batch; or one number s for 0 "
                          "to s. Pixels move by about 3 % of the longer side, times the strength."),
        option<&O::interpolation>("\"nearest\" or \"bilinear\"."),
        option<&O::fill_mode>("Beyond the edges: \"reflect\", \"mirror\": the same without repeating the pixels "
                              "of the edge, \"wrap\", \"nearest\": the pixels of the edge, or \"constant\": "
                              "fill_value."),
        option<&O::fill_value>("Value of pixels beyond the edges, with fill_mode \"constant\"."),
        value_range_fields<O>(), random_image_fields<O>());
  }
};

/// In training, distorts images as if they were elastic: each pixel moves by smooth noise; otherwise x. The moves along
/// both axes are drawn separately; Keras 3.15 on JAX draws the same numbers for both, so that pixels move along
/// diagonals. Throws Error(value) for numbers out of range and for unknown names. Source:
/// keras/src/layers/preprocessing/image_preprocessing/random_elastic_transform.py.
class RandomElasticTransform : public RandomImageLayer {
 public:
  using Options = RandomElasticTransformOptions;
  static constexpr ClassText about{"RandomElasticTransform",
                                   "In training, distorts images elastically: [.., height, width, channels] -> [..]."};
  explicit RandomElasticTransform(const RandomElasticTransformOptions& options = {});

 protected:
  Value transform(Value images) override;

 private:
  image_ops::Range factor_, scale_, value_range_;
  image_ops::Sampling sampling_;
};

namespace layers {
inline constexpr Factory<RandomElasticTransform> random_elastic_transform;
}  // namespace layers

}  // namespace etude
