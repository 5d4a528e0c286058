#pragma once

#include <vector>

#include "etude/layers/layer.hpp"

namespace etude {

/// The shape and dtype of a tensor of a functional model. Unknown extents are represented by samples: a batch of one
/// and of `many` rows, and two other extents. Extents that differ for these are unknown, too.
struct SampledShape {
  /// A number of rows that no axis is likely to have. Nothing is computed for them.
  static constexpr std::int64_t many = 10007;
  /// The samples of unknown extents other than the batch. They are large enough for windows, and have many factors, so
  /// that a model may divide them and multiply them again. A product of four of them is below 2^63.
  static constexpr std::int64_t sample = 3840, longer = 7680;

  /// A tensor that has these shapes for the samples.
  SampledShape(const Shape& one_row, const Shape& many_rows, const Shape& for_longer, DType type);
  /// An input of this shape, batch axis included, where -1 is an unknown extent.
  static SampledShape of_input(const Shape& shape, DType dtype);
  /// Whether the extent of `axis` depends on the size of the batch; false if there is no such axis.
  bool depends_on_batch(std::size_t axis) const {
    const auto at = static_cast<std::ptrdiff_t>(axis);
    return axis < shape.rank() && of_one[at] != of_many[at];
  }

  /// Its extents, batch axis included; -1 for those that depend on unknown ones.
  Shape shape;
  /// Its element type.
  DType dtype;
  /// The same for a batch of one, and for one of `many` rows, with `sample` for other unknown extents.
  Shape of_one, of_many;
  /// The same for a batch of one, with `longer` for other unknown extents.
  Shape of_longer;
};

/// The outputs of a call of `layer`, which is built for it. Throws Error(shape) if the shape of a variable depends on
/// unknown extents, or if the layer does not accept any. An unknown extent fits to each other extent, as in Keras.
std::vector<SampledShape> sampled_outputs(Layer& layer, const std::vector<SampledShape>& inputs);
/// Builds `layer` for an input of this shape, where -1 is an unknown extent.
void build_for_any(Layer& layer, const Shape& shape, DType dtype);

}  // namespace etude
