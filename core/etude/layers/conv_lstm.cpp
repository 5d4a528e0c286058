#include "etude/layers/conv_lstm.hpp"

#include "etude/base/detail/checked.hpp"
#include "etude/base/error.hpp"
#include "etude/layers/detail/data_format.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

using spatial::Numbers, spatial::VolumeWindow;

/// One step over images [batch, .., channels], or with the channels second.
class ConvLSTMCell : public LSTMCell {
 public:
  ConvLSTMCell(const ConvLSTMOptions& options, std::size_t rank)
      : LSTMCell(kernel_cell_options(options), options.activation, options.recurrent_activation,
                 options.unit_forget_bias, "ConvLSTMCell"),
        rank_(rank),
        channels_first_(is_channels_first(options.data_format, where())),
        padding_(options.padding) {
    over_inputs_.extent = over_state_.extent = spatial::numbers("kernel_size", options.kernel_size, rank, where());
    over_inputs_.strides = spatial::numbers("strides", options.strides, rank, where());
    over_inputs_.dilation = spatial::numbers("dilation_rate", options.dilation_rate, rank, where());
    spatial::check_padding(padding_, where());
    constexpr Numbers ones{1, 1, 1};
    check(over_inputs_.strides == ones || over_inputs_.dilation == ones, ErrorKind::value, where(),
          "strides = ", options.strides, " with dilation_rate = ", options.dilation_rate,
          " - expected one of them to be 1 - set one to 1.");
  }

  std::vector<Shape> state_shapes(const Shape& x) const override {
    const Shape images = last(x);
    const VolumeWindow window = spatial::over(over_inputs_, padding_, images, rank_, where());
    Shape shape{x[0]};
    if (channels_first_) shape.append(units());
    for (std::size_t axis = 3 - rank_; axis < 3; ++axis)
      shape.append(window.outputs(axis, images[std::ptrdiff_t(axis + rank_) - 2]));
    if (!channels_first_) shape.append(units());
    return {shape, shape};
  }

 protected:
  std::pair<Shape, Shape> kernel_shapes(const Shape& x) const override {
    check(x.rank() == rank_ + 2, ErrorKind::shape, where(), "steps of shape ", x, " - expected a batch axis, ", rank_,
          " spatial axes and channels - reshape the data.");
    const std::int64_t channels = last(x)[-1];
    check(channels > 0, ErrorKind::shape, where(), "steps of shape ", x,
          " - expected at least one channel - check the data.");
    Shape kernel;
    for (std::size_t axis = 3 - rank_; axis < 3; ++axis) kernel.append(over_state_.extent[axis]);
    Shape recurrent = kernel;
    const std::int64_t width = checked::multiply(gates(), units(), where());
    for (const std::int64_t extent : {channels, width}) kernel.append(extent);
    for (const std::int64_t extent : {units(), width}) recurrent.append(extent);
    return {kernel, recurrent};
  }

  /// The images of all steps are one batch.
  Value project(Value x) const override {
    const Shape given = x.shape();
    const bool of_all_steps = given.rank() > rank_ + 2;
    if (of_all_steps) x = ops::reshape(x, given.slice(2, given.rank()).with(0, given[0] * given[1]));
    Value y = spatial::convolution(spatial::channels_last(x, channels_first_), kernel(), over_inputs_, padding_, rank_,
                                   where());
    if (bias()) y = y + bias();
    y = spatial::restore_order(y, channels_first_);
    return of_all_steps ? spatial::split_axis(y, 0, {given[0], given[1]}) : y;
  }

  Value recur(Value h, Value recurrent_kernel) const override {
    const Value y = spatial::convolution(spatial::channels_last(h, channels_first_), recurrent_kernel, over_state_,
                                         "same", rank_, where());
    return spatial::restore_order(y, channels_first_);
  }

  std::ptrdiff_t gate_axis() const override { return channels_first_ ? 1 : -1; }

 private:
  /// The shape of x with the channels last.
  Shape last(const Shape& x) const { return channels_first_ ? x.without(1).with(rank_ + 1, x[1]) : x; }

  std::size_t rank_;
  bool channels_first_;
  std::string padding_;
  VolumeWindow over_inputs_, over_state_;
};

}  // namespace

ConvLSTM::ConvLSTM(const ClassEntry& entry, ConvLSTMOptions options, std::size_t rank)
    : Recurrent(entry.class_name, recurrent_options(options), std::make_shared<ConvLSTMCell>(options, rank)) {
  describe({entry, std::move(options)});
}

std::shared_ptr<Recurrent> ConvLSTM1D::copy(bool go_backwards, const std::string& name) const {
  return copy_of<ConvLSTM1D>(go_backwards, name);
}
std::shared_ptr<Recurrent> ConvLSTM2D::copy(bool go_backwards, const std::string& name) const {
  return copy_of<ConvLSTM2D>(go_backwards, name);
}
std::shared_ptr<Recurrent> ConvLSTM3D::copy(bool go_backwards, const std::string& name) const {
  return copy_of<ConvLSTM3D>(go_backwards, name);
}

ConvLSTM1D::ConvLSTM1D(ConvLSTMOptions options) : ConvLSTM(class_entry<ConvLSTM1D>, std::move(options), 1) {}
ConvLSTM2D::ConvLSTM2D(ConvLSTMOptions options) : ConvLSTM(class_entry<ConvLSTM2D>, std::move(options), 2) {}
ConvLSTM3D::ConvLSTM3D(ConvLSTMOptions options) : ConvLSTM(class_entry<ConvLSTM3D>, std::move(options), 3) {}

}  // namespace etude
