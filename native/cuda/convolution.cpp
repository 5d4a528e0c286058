#include <algorithm>

#include "cuda/launch.hpp"
#include "cuda/product.hpp"

// Convolutions are products: of the patches that a window sees and the kernel as a matrix. Our own kernel gathers
// patches as it reads them; for that of a GPU's vendor they are laid out as a matrix before.

namespace etude {

using cuda::at;
using cuda::BatchAxes;
using cuda::divide;
using cuda::MatrixOperand;
using cuda::narrow;
using cuda::ProductShape;
using cuda::Thread;
using instruction::Convolution;
using instruction::ConvolutionFilter;
using instruction::ConvolutionInput;
using instruction::ConvolutionShape;
using instruction::PoolScatter;

namespace {

/// A convolution's sizes as a kernel computes with them.
struct Sizes {
  int height, width, channels, rows, columns, filters;
  int kernel_width, group_channels, group_filters;
  int stride_y, stride_x, dilation_y, dilation_x, before_y, before_x;

  explicit Sizes(const ConvolutionShape& s)
      : height(narrow(s.height)),
        width(narrow(s.width)),
        channels(narrow(s.channels)),
        rows(narrow(s.rows)),
        columns(narrow(s.columns)),
        filters(narrow(s.filters)),
        kernel_width(narrow(s.window.extent[1])),
        group_channels(narrow(s.channels / s.groups)),
        group_filters(narrow(s.filters / s.groups)),
        stride_y(narrow(s.window.strides[0])),
        stride_x(narrow(s.window.strides[1])),
        dilation_y(narrow(s.window.dilation[0])),
        dilation_x(narrow(s.window.dilation[1])),
        before_y(narrow(s.window.before[0])),
        before_x(narrow(s.window.before[1])) {}
};

/// What the window sees: x at (place of the window, tap of the kernel and channel), 0 in the padding.
template <class T>
struct Patches {
  const T* x;
  Sizes s;

  ETUDE_DEVICE const T* of_batch(std::int64_t group) const { return x + group * s.group_channels; }
  ETUDE_DEVICE T seen(const T* first, std::int64_t place, std::int64_t tap_channel) const {
    std::int64_t image = place;
    const int inside = divide(image, s.rows * s.columns), tap = static_cast<int>(tap_channel) / s.group_channels;
    const int channel = static_cast<int>(tap_channel) % s.group_channels;
    const int y = inside / s.columns * s.stride_y - s.before_y + tap / s.kernel_width * s.dilation_y;
    const int across = inside % s.columns * s.stride_x - s.before_x + tap % s.kernel_width * s.dilation_x;
    if (y < 0 || y >= s.height || across < 0 || across >= s.width) return T{};
    return first[((image * s.height + y) * s.width + across) * s.channels + channel];
  }
};
/// A row for each place, a column for each tap and channel.
template <class T>
struct PatchRows : Patches<T> {
  ETUDE_DEVICE bool rows_contiguous() const { return true; }
  ETUDE_DEVICE T at(const T* first, std::int64_t i, std::int64_t j) const { return this->seen(first, i, j); }
};
template <class T>
struct PatchColumns : Patches<T> {
  ETUDE_DEVICE bool rows_contiguous() const { return false; }
  ETUDE_DEVICE T at(const T* first, std::int64_t i, std::int64_t j) const { return this->seen(first, j, i); }
};

/// Which windows saw a cell of x: dy at (cell, tap and filter), 0 where the tap saw no such cell.
template <class T>
struct SeenBy {
  const T* dy;
  Sizes s;

  ETUDE_DEVICE bool rows_contiguous() const { return true; }
  ETUDE_DEVICE const T* of_batch(std::int64_t group) const { return dy + group * s.group_filters; }
  ETUDE_DEVICE T at(const T* first, std::int64_t cell, std::int64_t tap_filter) const {
    std::int64_t image = cell;
    const int inside = divide(image, s.height * s.width), tap = static_cast<int>(tap_filter) / s.group_filters;
    const int filter = static_cast<int>(tap_filter) % s.group_filters;
    const int y = inside / s.width + s.before_y - tap / s.kernel_width * s.dilation_y;
    const int across = inside % s.width + s.before_x - tap % s.kernel_width * s.dilation_x;
    if (y < 0 || across < 0 || y % s.stride_y != 0 || across % s.stride_x != 0) return T{};
    const int row = y / s.stride_y, column = across / s.stride_x;
    if (row >= s.rows || column >= s.columns) return T{};
    return first[((image * s.rows + row) * s.columns + column) * s.filters + filter];
  }
};

/// The kernel as a matrix with a row for each tap and filter, a column for each channel of the group.
template <class T>
struct TurnedKernel {
  const T* kernel;
  Sizes s;

  ETUDE_DEVICE bool rows_contiguous() const { return false; }
  ETUDE_DEVICE const T* of_batch(std::int64_t group) const { return kernel + group * s.group_filters; }
  ETUDE_DEVICE T at(const T* first, std::int64_t tap_filter, std::int64_t channel) const {
    const int tap = static_cast<int>(tap_filter) / s.group_filters,
              filter = static_cast<int>(tap_filter) % s.group_filters;
    return first[(std::int64_t{tap} * s.group_channels + channel) * s.filters + filter];
  }
};

std::int64_t taps_of(const ConvolutionShape& s) { return s.window.cells() * (s.channels / s.groups); }

ProductShape forward_shape(const ConvolutionShape& s) {
  return {s.batch * s.rows * s.columns, s.filters / s.groups, taps_of(s), s.groups};
}
ProductShape input_shape(const ConvolutionShape& s) {
  return {s.batch * s.height * s.width, s.channels / s.groups, s.window.cells() * (s.filters / s.groups), s.groups};
}
ProductShape filter_shape(const ConvolutionShape& s) {
  return {taps_of(s), s.filters / s.groups, s.batch * s.rows * s.columns, s.groups};
}

/// The groups of a tensor whose last axis they share.
BatchAxes groups_of(const ConvolutionShape& s, std::int64_t each) { return {1, {s.groups}, {each}}; }

/// Bytes of a dy that comes pooled and has to be spread out first, a multiple of what alignment asks for.
template <class Gradient> std::size_t spread_bytes(const Gradient& g) {
  if (!g.pooling) return 0;
  const ConvolutionShape& s = g.shape;
  const auto bytes = static_cast<std::size_t>(s.batch * s.rows * s.columns * s.filters) * size_of(g.dy.dtype);
  return (bytes + 255) / 256 * 256;
}

Operand behind(Operand workspace, std::size_t bytes, DType dtype) {
  return {workspace.space, workspace.offset + static_cast<std::int64_t>(bytes), dtype};
}

/// Where dy lies as the kernels read it: one that comes pooled is spread out first.
template <class Gradient> Operand spread_out(Cuda& device, const Gradient& g, Addresses addresses) {
  if (!g.pooling) return g.dy;
  const Operand dy = behind(g.workspace, 0, g.dy.dtype);
  device.run(PoolScatter{*g.pooling, g.dy, g.index, dy}, addresses);
  return dy;
}

/// Writes out a matrix that is gathered.
template <class T, class Matrix>
struct LayOut {
  static constexpr const char* name = "lay out a matrix";
  Matrix matrix;
  int columns;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    std::int64_t row = i;
    const int column = divide(row, columns);
    out[i] = matrix.at(matrix.of_batch(0), row, column);
  }
};

/// The matrices that are laid out in the workspace: what the windows see, and behind it the kernel if it is turned.
struct LaidOut {
  std::int64_t rows, columns, turned;  ///< elements of the kernel

  static LaidOut patches(const ConvolutionShape& s) {
    return {s.batch * s.rows * s.columns, s.window.cells() * s.channels, 0};
  }
  static LaidOut seen_by(const ConvolutionShape& s) {
    return {s.batch * s.height * s.width, s.window.cells() * s.filters, s.window.cells() * s.filters * s.channels};
  }
  static std::size_t aligned(std::int64_t elements, DType dtype) {
    return (static_cast<std::size_t>(elements) * size_of(dtype) + 255) / 256 * 256;
  }
  std::size_t turned_begin(DType dtype) const { return aligned(rows * columns, dtype); }
  std::size_t end(DType dtype) const { return turned_begin(dtype) + aligned(turned, dtype); }
};

/// More than that is not laid out.
constexpr std::size_t most_laid_out = std::size_t{256} << 20;

/// Bytes of workspace with which the vendor computes a convolution; 0 where it does not.
std::size_t vendor_bytes(const cuda::Runtime& runtime, const ConvolutionShape& s, const LaidOut& laid, DType dtype) {
  const bool wanted = runtime.product_workspace() > 0 && s.groups == 1 && laid.rows * laid.columns > 0 &&
                      s.filters * s.channels > 0 && laid.end(dtype) <= most_laid_out;
  return wanted ? laid.end(dtype) + runtime.product_workspace() : 0;
}

template <class T, class Matrix>
cuda::MatrixProduct::Matrix lay_out(cuda::Runtime& runtime, const Matrix& matrix, std::int64_t rows,
                                    std::int64_t columns, std::byte* at) {
  launch_each(runtime, rows * columns, LayOut<T, Matrix>{matrix, narrow(columns), reinterpret_cast<T*>(at)});
  return {at, columns, false, 0};
}

cuda::MatrixProduct::Matrix matrix_at(std::byte* data, std::int64_t columns) { return {data, columns, false, 0}; }

}  // namespace

std::size_t Cuda::workspace(const Convolution& c) const {
  const DType dtype = c.out.dtype;
  return std::max(forward_shape(c.shape).part_bytes(dtype),
                  vendor_bytes(*runtime_, c.shape, LaidOut::patches(c.shape), dtype));
}
std::size_t Cuda::workspace(const ConvolutionInput& c) const {
  const DType dtype = c.out.dtype;
  return spread_bytes(c) + std::max(input_shape(c.shape).part_bytes(dtype),
                                    vendor_bytes(*runtime_, c.shape, LaidOut::seen_by(c.shape), dtype));
}
std::size_t Cuda::workspace(const ConvolutionFilter& c) const {
  const DType dtype = c.out.dtype;
  return spread_bytes(c) + std::max(filter_shape(c.shape).part_bytes(dtype),
                                    vendor_bytes(*runtime_, c.shape, LaidOut::patches(c.shape), dtype));
}

void Cuda::run(const Convolution& c, Addresses addresses) {
  const ConvolutionShape& s = c.shape;
  const Sizes sizes(s);
  const DType dtype = c.out.dtype;
  cuda::with_stored(dtype, [&]<class T>(T) {
    const PatchRows<T> patches{{at<const T>(addresses, c.x), sizes}};
    if (const LaidOut laid = LaidOut::patches(s); vendor_bytes(*runtime_, s, laid, dtype)) {
      auto* workspace = at<std::byte>(addresses, c.workspace);
      if (runtime_->multiply({dtype, laid.rows, s.filters, laid.columns, 1,
                              lay_out<T>(*runtime_, patches, laid.rows, laid.columns, workspace),
                              matrix_at(at<std::byte>(addresses, c.kernel), s.filters),
                              matrix_at(at<std::byte>(addresses, c.out), s.filters), workspace + laid.end(dtype)}))
        return;
    }
    const MatrixOperand<T> kernel{at<const T>(addresses, c.kernel), s.filters, 1, groups_of(s, s.filters / s.groups)};
    cuda::multiply(*runtime_, forward_shape(s), patches, kernel, at<T>(addresses, c.out), s.filters,
                   groups_of(s, s.filters / s.groups), at<cuda::Computed<T>>(addresses, c.workspace));
  });
  if (c.epilogue) run(*c.epilogue, addresses);
}

void Cuda::run(const ConvolutionInput& c, Addresses addresses) {
  const ConvolutionShape& s = c.shape;
  const Sizes sizes(s);
  const DType dtype = c.out.dtype;
  const Operand dy = spread_out(*this, c, addresses), rest = behind(c.workspace, spread_bytes(c), dtype);
  cuda::with_stored(dtype, [&]<class T>(T) {
    const SeenBy<T> seen{at<const T>(addresses, dy), sizes};
    const TurnedKernel<T> kernel{at<const T>(addresses, c.kernel), sizes};
    if (const LaidOut laid = LaidOut::seen_by(s); vendor_bytes(*runtime_, s, laid, dtype)) {
      auto* workspace = at<std::byte>(addresses, rest);
      if (runtime_->multiply(
              {dtype, laid.rows, s.channels, laid.columns, 1,
               lay_out<T>(*runtime_, seen, laid.rows, laid.columns, workspace),
               lay_out<T>(*runtime_, kernel, laid.columns, s.channels, workspace + laid.turned_begin(dtype)),
               matrix_at(at<std::byte>(addresses, c.out), s.channels), workspace + laid.end(dtype)}))
        return;
    }
    cuda::multiply(*runtime_, input_shape(s), seen, kernel, at<T>(addresses, c.out), s.channels,
                   groups_of(s, s.channels / s.groups), at<cuda::Computed<T>>(addresses, rest));
  });
  if (c.epilogue) run(*c.epilogue, addresses);
}

void Cuda::run(const ConvolutionFilter& c, Addresses addresses) {
  const ConvolutionShape& s = c.shape;
  const Sizes sizes(s);
  const DType dtype = c.out.dtype;
  const Operand dy = spread_out(*this, c, addresses), rest = behind(c.workspace, spread_bytes(c), dtype);
  cuda::with_stored(dtype, [&]<class T>(T) {
    if (const LaidOut laid = LaidOut::patches(s); vendor_bytes(*runtime_, s, laid, dtype)) {
      auto* workspace = at<std::byte>(addresses, rest);
      const PatchRows<T> rows{{at<const T>(addresses, c.x), sizes}};
      cuda::MatrixProduct::Matrix patches = lay_out<T>(*runtime_, rows, laid.rows, laid.columns, workspace);
      patches.transposed = true;
      if (runtime_->multiply({dtype, laid.columns, s.filters, laid.rows, 1, patches,
                              matrix_at(at<std::byte>(addresses, dy), s.filters),
                              matrix_at(at<std::byte>(addresses, c.out), s.filters), workspace + laid.end(dtype)}))
        return;
    }
    const PatchColumns<T> patches{{at<const T>(addresses, c.x), sizes}};
    const MatrixOperand<T> gradient{at<const T>(addresses, dy), s.filters, 1, groups_of(s, s.filters / s.groups)};
    cuda::multiply(*runtime_, filter_shape(s), patches, gradient, at<T>(addresses, c.out), s.filters,
                   groups_of(s, s.filters / s.groups), at<cuda::Computed<T>>(addresses, rest));
  });
  if (c.epilogue) run(*c.epilogue, addresses);
}

}  // namespace etude
