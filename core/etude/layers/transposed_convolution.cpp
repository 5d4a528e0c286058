#include "etude/layers/transposed_convolution.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

using spatial::Numbers, spatial::VolumeWindow;

TransposedConvolution::TransposedConvolution(const ClassEntry& entry, TransposedConvolutionOptions options,
                                             std::size_t rank)
    : ConvolutionLayer(entry, std::move(options), rank), options_(described_options<TransposedConvolutionOptions>()) {
  const auto& o = options_;
  check_positive("filters", o.filters);
  spatial::check_padding(o.padding, where());
  if (o.output_padding.empty()) return;
  const std::vector<std::int64_t>& given = o.output_padding.all();
  bool fits = given.size() == 1 || given.size() == rank;
  Numbers numbers{};
  for (std::size_t i = 0; fits && i < rank; ++i) {
    const std::size_t axis = i + 3 - rank;
    numbers[axis] = given[given.size() == 1 ? 0 : i];
    fits = numbers[axis] >= 0 && numbers[axis] < window().strides[axis];
  }
  check(fits, ErrorKind::value, where(), "output_padding = ", o.output_padding, " with strides = ", o.strides,
        " - expected one number for all axes or one for each, from 0 to less than strides - set output_padding.");
  output_padding_ = numbers;
}

void TransposedConvolution::build(const Shape& input_shape) {
  kernel_ = add_kernel("kernel", options_.filters, channels_of(input_shape), options_.kernel_initializer,
                       options_.kernel_regularizer, options_.kernel_constraint);
  add_bias(options_, {options_.filters});
}

Value TransposedConvolution::convolve(Value x) const {
  // The window of the convolution whose gradient this is: from `extents` to the extents of x.
  VolumeWindow over = window();
  Numbers extents{1, 1, 1}, inputs{1, 1, 1};
  for (std::size_t axis = 3 - rank(); axis < 3; ++axis) {
    const std::int64_t in = x.shape()[static_cast<std::ptrdiff_t>(axis + rank()) - 2], span = over.span(axis);
    const std::int64_t stride = over.strides[axis];
    inputs[axis] = in;
    // Keras's padding of x with stride - 1 zeros between its entries (keras/src/backend/common/backend_utils.py).
    std::int64_t first = span - 1;
    if (padding() == "valid") {
      extents[axis] = (in - 1) * stride + (output_padding_ ? span + (*output_padding_)[axis] : std::max(span, stride));
    } else {
      const std::int64_t all = output_padding_ ? span + span % 2 - 2 + (*output_padding_)[axis] : span + stride - 2;
      first = std::min(all / 2 + all % 2, span - 1);
      extents[axis] = output_padding_ ? (in - 1) * stride + span % 2 + (*output_padding_)[axis] : in * stride;
    }
    if (in == 0) extents[axis] = 0;
    over.before[axis] = span - 1 - first;
    over.after[axis] = std::max<std::int64_t>(0, (in - 1) * stride + span - extents[axis] - over.before[axis]);
  }
  const Shape given = x.shape();
  const Value kernel = value_of(kernel_);
  const std::int64_t batch = given[0], filters = options_.filters;
  if (rank() < 3) {
    const Value planes = spatial::to_planes(x, rank());
    const Value y = ops::convolution_input(planes, rank() == 1 ? ops::expand_dims(kernel, 0) : kernel, over.plane(),
                                           {batch, extents[1], extents[2], filters});
    return spatial::from_planes(y, rank(), given);
  }
  if (inputs[0] == 0) return ops::zeros({batch, 0, extents[1], extents[2], filters}, x.dtype());
  // Each depth gives a plane for each cell along the depth, which are added where they belong.
  const Shape shape = kernel.shape();
  const std::int64_t cells = shape[0], last = (inputs[0] - 1) * over.strides[0] + over.span(0);
  const Value flat =
      ops::reshape(ops::transpose(kernel, {1, 2, 0, 3, 4}), {shape[1], shape[2], cells * filters, shape[4]});
  const Value planes = ops::convolution_input(spatial::to_planes(x, 3), flat, over.plane(),
                                              {batch * inputs[0], extents[1], extents[2], cells * filters});
  const Value split = ops::reshape(planes, {batch, inputs[0], extents[1], extents[2], cells, filters});
  Value sum;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    const Value own = ops::squeeze(ops::slice(split, 4, cell, 1), 4);
    const std::int64_t at = cell * over.dilation[0];
    const Value apart = spatial::spread(own, 1, over.strides[0]);
    const std::int64_t extent = std::max(last, extents[0] + over.before[0]);
    const std::int64_t used = std::min(apart.shape()[1], extent - at);
    const Value placed = spatial::pad(ops::slice(apart, 1, 0, used), 1, at, extent - at - used);
    sum = sum ? sum + placed : placed;
  }
  return ops::slice(sum, 1, over.before[0], extents[0]);
}

Conv1DTranspose::Conv1DTranspose(TransposedConvolutionOptions options)
    : TransposedConvolution(class_entry<Conv1DTranspose>, std::move(options), 1) {}
Conv2DTranspose::Conv2DTranspose(TransposedConvolutionOptions options)
    : TransposedConvolution(class_entry<Conv2DTranspose>, std::move(options), 2) {}
Conv3DTranspose::Conv3DTranspose(TransposedConvolutionOptions options)
    : TransposedConvolution(class_entry<Conv3DTranspose>, std::move(options), 3) {}

}  // namespace etude
