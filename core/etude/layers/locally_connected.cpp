#include "etude/layers/locally_connected.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

LocallyConnected::LocallyConnected(const ClassEntry& entry, LocallyConnectedOptions options, std::size_t rank)
    : ConvolutionLayer(entry, std::move(options), rank), options_(described_options<LocallyConnectedOptions>()) {
  check_positive("filters", options_.filters);
  check(options_.padding == "valid", ErrorKind::value, where(), "padding = \"", options_.padding,
        "\" - expected \"valid\" - pad the data by a ZeroPadding layer.");
}

void LocallyConnected::build(const Shape& input_shape) {
  const std::int64_t channels = channels_of(input_shape);
  inputs_ = channels_first() ? input_shape.slice(2, rank() + 2) : input_shape.slice(1, rank() + 1);
  outputs_ = {};
  Shape last{input_shape[0]}, window_cells;  // the input's shape with the channels last
  for (const std::int64_t extent : inputs_) last.append(extent);
  last.append(channels);
  const spatial::VolumeWindow over = spatial::over(window(), padding(), last, rank(), where());
  for (std::size_t axis = 3 - rank(); axis < 3; ++axis) {
    outputs_.append(over.outputs(axis, inputs_[static_cast<std::ptrdiff_t>(axis + rank()) - 3]));
    window_cells.append(over.extent[axis]);
  }
  window_cells.append(channels);
  kernel_ = add_weight({.name = "kernel",
                        .shape = {outputs_.size(), window_cells.size(), options_.filters},
                        .initializer = options_.kernel_initializer,
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  Shape bias = outputs_;
  bias.append(options_.filters);
  add_bias(options_, bias);
}

/// [batch, positions, cells · channels], from planes.
Value LocallyConnected::windows_of(Value x) const {
  const spatial::Numbers &extent = window().extent, &strides = window().strides;
  const std::int64_t batch = x.shape()[0], channels = x.shape()[-1], positions = outputs_.size();
  const std::int64_t height = rank() == 1 ? 1 : outputs_[0], width = outputs_[-1];
  std::vector<Value> cells;
  for (std::int64_t row = 0; row < extent[1]; ++row) {
    const Value rows = spatial::strided(x, 1, row, strides[1], height);
    for (std::int64_t column = 0; column < extent[2]; ++column)
      cells.push_back(
          ops::reshape(spatial::strided(rows, 2, column, strides[2], width), {batch, positions, 1, channels}));
  }
  const Value all = ops::concatenate(cells, 2);
  return ops::reshape(channels_first() ? ops::transpose(all, {0, 1, 3, 2}) : all,
                      {batch, positions, kernel_.shape()[1]});
}

Value LocallyConnected::convolve(Value x) const {
  check(x.shape().slice(1, rank() + 1) == inputs_, ErrorKind::shape, where(), "input of extents ",
        x.shape().slice(1, rank() + 1), " - expected ", inputs_,
        ", for which it was built: each position has a kernel - build a new layer or check the data.");
  const Value windows = windows_of(spatial::to_planes(x, rank()));
  const Value y = ops::transpose(ops::matmul(ops::transpose(windows, {1, 0, 2}), value_of(kernel_)), {1, 0, 2});
  Shape shape{x.shape()[0]};
  for (const std::int64_t extent : outputs_) shape.append(extent);
  shape.append(options_.filters);
  return ops::reshape(y, shape);
}

LocallyConnected1D::LocallyConnected1D(LocallyConnectedOptions options)
    : LocallyConnected(class_entry<LocallyConnected1D>, std::move(options), 1) {}
LocallyConnected2D::LocallyConnected2D(LocallyConnectedOptions options)
    : LocallyConnected(class_entry<LocallyConnected2D>, std::move(options), 2) {}

}  // namespace etude
