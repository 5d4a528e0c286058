#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "etude/base/backend.hpp"
#include "etude/layers/preprocessing_images.hpp"

namespace etude {

struct MaxNumBoundingBoxesOptions {
  std::int64_t max_number = 0;
  std::int64_t fill_value = -1;
  std::string bounding_box_format = {};
  std::string data_format = image_data_format();
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = MaxNumBoundingBoxesOptions> static constexpr auto fields() {
    return option_rows(option<&O::max_number>("Number of boxes of each image in the result.", Need::required),
                       option<&O::fill_value>("Number in boxes and labels that are added."),
                       option<&O::bounding_box_format>("Configs of Keras have it; boxes of all formats are alike "
                                                       "here."),
                       option<&O::data_format>("Configs of Keras have it; the layer does not use it."),
                       layer_fields<O>());
  }
};

/// The first max_number boxes of each image; where there are fewer, boxes of fill_value follow. Called on boxes [batch,
/// boxes, 4], or on a list {boxes, labels}, labels [batch, boxes], of which it returns both. Keras takes
/// and returns them within a dict, beside images that it does not change. Throws Error(value) for a max_number below 1,
/// Error(shape) for other inputs. Source: keras/src/layers/preprocessing/image_preprocessing/max_num_bounding_box.py.
class MaxNumBoundingBoxes : public Layer {
 public:
  using Options = MaxNumBoundingBoxesOptions;
  static constexpr ClassText about{
      .name = "MaxNumBoundingBoxes",
      .text = "Cuts or fills lists of boxes to one length: [batch, boxes, 4] -> [batch, max_number, 4].",
      .example = R"({"max_number": 3})"};
  explicit MaxNumBoundingBoxes(MaxNumBoundingBoxesOptions options);
  Value call(Value boxes, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;

 private:
  Value resized(Value x) const;

  const MaxNumBoundingBoxesOptions& options_;
};

namespace layers {
inline constexpr Factory<MaxNumBoundingBoxes> max_num_bounding_boxes;
}  // namespace layers

}  // namespace etude
