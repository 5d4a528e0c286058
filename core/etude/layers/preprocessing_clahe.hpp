#pragma once

#include <cstdint>
#include <string>

#include "etude/base/backend.hpp"
#include "etude/base/doubles.hpp"
#include "etude/base/integers.hpp"
#include "etude/layers/preprocessing_images.hpp"

namespace etude {

struct ContrastLimitedAdaptiveHistogramEqualizationOptions {
  Doubles value_range = {0, 255};
  double clip_limit = 4;
  Integers tile_grid_size = {8, 8};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = ContrastLimitedAdaptiveHistogramEqualizationOptions> static constexpr auto fields() {
    return option_rows(
        value_range_fields<O>(),
        option<&O::clip_limit>("Greatest count of a brightness within a tile, in multiples of the mean count; "
                               "what is above is distributed over all brightnesses. 0: no limit."),
        option<&O::tile_grid_size>("Number of tiles along the height and the width. Default: 8 and 8."),
        image_fields<O>());
  }
};

/// Equalizes the histogram of each tile of each channel of images, in training and otherwise: a pixel gets the value
/// that the four nearest tiles give its brightness, interpolated. Images are reflected to whole tiles. Integers keep
/// their dtype. Throws Error(value) for a grid that is not one or two numbers from 1 to 1024. Source:
/// keras/src/layers/preprocessing/image_preprocessing/clahe.py.
class ContrastLimitedAdaptiveHistogramEqualization : public ImageLayer {
 public:
  using Options = ContrastLimitedAdaptiveHistogramEqualizationOptions;
  static constexpr ClassText about{
      "ContrastLimitedAdaptiveHistogramEqualization",
      "Equalizes the histograms of the tiles of images: [.., height, width, channels] -> [..]."};
  /// A layer of these options.
  explicit ContrastLimitedAdaptiveHistogramEqualization(
      ContrastLimitedAdaptiveHistogramEqualizationOptions options = {});

 protected:
  Value transform(Value images, bool training) override;

 private:
  const ContrastLimitedAdaptiveHistogramEqualizationOptions& options_;
};

namespace layers {
inline constexpr Factory<ContrastLimitedAdaptiveHistogramEqualization> contrast_limited_adaptive_histogram_equalization;
}  // namespace layers

}  // namespace etude
