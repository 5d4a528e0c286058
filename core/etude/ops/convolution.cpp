#include "etude/ops/convolution.hpp"

#include <algorithm>
#include <limits>

#include "etude/base/error.hpp"
#include "etude/graph/detail/rules.hpp"

namespace etude {
namespace {

/// The largest number in a window: sums and products of two such numbers do not overflow.
constexpr std::int64_t window_most = std::numeric_limits<std::int32_t>::max();

/// The shape of the convolution of an x and a kernel of these shapes; throws unless they match. `where` names the op.
Shape convolved(const Shape& x, const Shape& kernel, const Window& window, std::string_view where) {
  check(x.rank() == 4 && kernel.rank() == 4, ErrorKind::shape, where, "shapes ", x, " and ", kernel,
        " - expected [batch, height, width, channels] and [height, width, channels / groups, filters] - reshape them.");
  ops::check_window(window, where);
  check(kernel[0] == window.extent[0] && kernel[1] == window.extent[1], ErrorKind::shape, where, "a kernel of shape ",
        kernel, " for a window of ", window.extent[0], " x ", window.extent[1],
        " - expected the window's extents first - build the window from the kernel.");
  const bool groups = kernel[2] > 0 && x[3] > 0 && x[3] % kernel[2] == 0 && kernel[3] % (x[3] / kernel[2]) == 0;
  check(groups && kernel[3] > 0, ErrorKind::shape, where, "shapes ", x, " and ", kernel,
        " - expected channels and filters that are multiples of the number of groups - check the kernel.");
  const Shape y{x[0], window.outputs(0, x[1]), window.outputs(1, x[2]), kernel[3]};
  check(y[1] > 0 && y[2] > 0 && x[1] > 0 && x[2] > 0, ErrorKind::shape, where, "a window of ", window.span(0), " x ",
        window.span(1), " for an input of shape ", x,
        " - expected a window that fits - use a smaller window, or padding.");
  return y;
}

void check_dtypes(std::span<const Value> x, std::string_view where) {
  check(x[0].dtype() == x[1].dtype() && is_floating(x[0].dtype()), ErrorKind::dtype, where, "dtypes ", x[0].dtype(),
        " and ", x[1].dtype(), " - expected two equal float dtypes - cast one of them.");
}

void check_result(const Shape& dy, const Shape& want, std::string_view where) {
  check(dy == want, ErrorKind::shape, where, "dy of shape ", dy, " - expected ", want,
        ", the shape of the convolution's result - pass its gradient.");
}

}  // namespace

Meta op::Convolution::infer(Operands x) const {
  check_dtypes(x, "Convolution");
  return {convolved(x[0].shape(), x[1].shape(), window, "Convolution"), x[0].dtype()};
}
Meta op::ConvolutionInput::infer(Operands x) const {
  check_dtypes(x, "ConvolutionInput");
  check_result(x[0].shape(), convolved(shape, x[1].shape(), window, "ConvolutionInput"), "ConvolutionInput");
  return {shape, x[0].dtype()};
}
Meta op::ConvolutionFilter::infer(Operands x) const {
  check_dtypes(x, "ConvolutionFilter");
  check_result(x[1].shape(), convolved(x[0].shape(), shape, window, "ConvolutionFilter"), "ConvolutionFilter");
  return {shape, x[0].dtype()};
}

// Each op is linear in both operands, and the three are transposes of each other.
OperandGradients op::Convolution::gradient(const Differential& d) const {
  const Value &x = d.x[0], &kernel = d.x[1];
  return {ops::convolution_input(d.dy, kernel, window, x.shape()),
          ops::convolution_filter(x, d.dy, window, kernel.shape())};
}
OperandGradients op::ConvolutionInput::gradient(const Differential& d) const {
  const Value &dy = d.x[0], &kernel = d.x[1];
  return {ops::convolution(d.dy, kernel, window), ops::convolution_filter(d.dy, dy, window, kernel.shape())};
}
OperandGradients op::ConvolutionFilter::gradient(const Differential& d) const {
  const Value &x = d.x[0], &dy = d.x[1];
  return {ops::convolution_input(dy, d.dy, window, x.shape()), ops::convolution(x, d.dy, window)};
}

namespace ops {

void check_window(const Window& window, std::string_view where) {
  const auto between = [](std::int64_t least, std::int64_t number) { return number >= least && number <= window_most; };
  for (std::size_t axis = 0; axis < 2; ++axis)
    check(between(1, window.extent[axis]) && between(1, window.strides[axis]) && between(1, window.dilation[axis]) &&
              between(0, window.before[axis]) && between(0, window.after[axis]),
          ErrorKind::value, where, "a window of extent ", window.extent[axis], ", stride ", window.strides[axis],
          ", dilation ", window.dilation[axis], ", padding ", window.before[axis], " and ", window.after[axis],
          " - expected extent, stride and dilation from 1 to ", window_most, ", padding of 0 or more - change them.");
}

Window padded(Window window, std::string_view padding, std::array<std::int64_t, 2> input) {
  check_window(window, "padded");
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t stride = window.strides[axis], outputs = (input[axis] + stride - 1) / stride;
    const std::int64_t lacking = (outputs - 1) * stride + window.span(axis) - input[axis];
    const std::int64_t total = padding == "same" ? std::max(lacking, std::int64_t{0}) : 0;
    window.before[axis] = total / 2;
    window.after[axis] = total - total / 2;
  }
  return window;
}

Value convolution(Value x, Value kernel, const Window& window) {
  return x.graph().append(op::Convolution{window}, {x, kernel});
}
Value convolution_input(Value dy, Value kernel, const Window& window, const Shape& shape) {
  return dy.graph().append(op::ConvolutionInput{window, shape}, {dy, kernel});
}
Value convolution_filter(Value x, Value dy, const Window& window, const Shape& shape) {
  return x.graph().append(op::ConvolutionFilter{window, shape}, {x, dy});
}

}  // namespace ops
}  // namespace etude
