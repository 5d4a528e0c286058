#include <algorithm>

#include "cuda/convolution_choice.hpp"
#include "cuda/depthwise.hpp"
#include "cuda/patches.hpp"
#include "cuda/product.hpp"

// Convolutions are products of the window's patches and the kernel as a matrix. Our own kernel gathers patches as it
// reads them. For the vendor's kernel, patches are laid out as a matrix first, some images at a time. A convolution by
// a kernel of one cell is a product of x itself. A convolution with one channel per group has its own kernels. The
// vendor's own convolutions compute those that they were measured to compute faster.

namespace etude {

using cuda::at;
using cuda::BatchAxes;
using cuda::blocks_for;
using cuda::Computed;
using cuda::ConvolutionPass;
using cuda::ConvolutionSizes;
using cuda::MatrixOperand;
using cuda::MatrixProduct;
using cuda::ProductShape;
using instruction::Convolution;
using instruction::ConvolutionFilter;
using instruction::ConvolutionInput;
using instruction::ConvolutionShape;
using instruction::PoolScatter;

namespace {

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

/// The groups of a tensor, along its last axis.
BatchAxes groups_of(const ConvolutionShape& s, std::int64_t each) { return {1, {s.groups}, {each}}; }

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
std::size_t aligned(std::int64_t elements, DType dtype) {
  return aligned(static_cast<std::size_t>(elements) * size_of(dtype));
}

/// The bytes of dy after unpooling, rounded up to the alignment; 0 if dy is not pooled.
template <class Gradient> std::size_t spread_bytes(const Gradient& g) {
  if (!g.pooling) return 0;
  const ConvolutionShape& s = g.shape;
  return aligned(s.batch * s.rows * s.columns * s.filters, g.dy.dtype);
}

Operand behind(Operand workspace, std::size_t bytes, DType dtype) {
  return {workspace.space, workspace.offset + static_cast<std::int64_t>(bytes), dtype};
}

/// The dy that the kernels read: a pooled dy is unpooled first.
template <class Gradient> Operand spread_out(Cuda& device, const Gradient& g, Addresses addresses) {
  if (!g.pooling) return g.dy;
  const Operand dy = behind(g.workspace, 0, g.dy.dtype);
  device.run(PoolScatter{*g.pooling, g.dy, g.index, dy}, addresses);
  return dy;
}

/// Whether the vendor's library computes the shape's matrix products.
bool by_vendor(const cuda::Runtime& runtime, const ConvolutionShape& s) {
  return runtime.product_workspace() > 0 && s.groups == 1 && s.batch * s.height * s.width * s.channels > 0 &&
         s.rows * s.columns * s.filters > 0;
}

/// Whether x itself is the matrix of patches, and the kernel has one tap.
bool is_pointwise(const ConvolutionShape& s) {
  return s.window.cells() == 1 && s.window.strides == std::array<std::int64_t, 2>{1, 1} && !s.window.padded();
}

/// A matrix with some rows per image, laid out in chunks of rows: those of whole images or, if one image has more than
/// fit, some of its rows.
struct Chunks {
  std::int64_t rows, columns;  ///< in all
  std::int64_t at_once;        ///< rows

  Chunks(std::int64_t batch, std::int64_t rows_of_image, std::int64_t columns_, DType dtype, std::size_t most_bytes)
      : rows(batch * rows_of_image), columns(columns_) {
    constexpr std::int64_t least = 128;  // with fewer rows, a product's tiles are not full
    const std::int64_t room = static_cast<std::int64_t>(most_bytes / size_of(dtype)) / columns;
    const std::int64_t images = room / rows_of_image * rows_of_image;
    at_once = std::min(rows, images > 0 ? images : std::min(rows_of_image, std::max(least, room)));
  }
  static Chunks patches(const ConvolutionShape& s, DType dtype, std::size_t most_bytes) {
    return {s.batch, s.rows * s.columns, s.window.cells() * s.channels, dtype, most_bytes};
  }
  static Chunks seen_by(const ConvolutionShape& s, DType dtype, std::size_t most_bytes) {
    return {s.batch, s.height * s.width, s.window.cells() * s.filters, dtype, most_bytes};
  }
  bool several() const { return at_once < rows; }
  std::size_t bytes(DType dtype) const { return aligned(at_once * columns, dtype); }
  /// Calls body(first row, rows of the chunk).
  template <class Body> void each(Body body) const {
    for (std::int64_t first = 0; first < rows; first += at_once) body(first, std::min(at_once, rows - first));
  }
};

/// The bytes of a transposed kernel.
std::size_t turned_bytes(const ConvolutionShape& s, DType dtype) {
  return aligned(s.window.cells() * s.channels * s.filters, dtype);
}

/// The bytes of the chunks' parts of a filter's gradient, and of their sum, if there are several.
std::size_t sum_bytes(const ConvolutionShape& s, const Chunks& chunks, DType dtype) {
  return chunks.several() ? aligned(s.window.cells() * s.channels * s.filters, is_half(dtype) ? DType::float32 : dtype)
                          : 0;
}
std::size_t part_bytes(const ConvolutionShape& s, const Chunks& chunks, DType dtype) {
  return chunks.several() ? aligned(s.window.cells() * s.channels * s.filters, dtype) : 0;
}

template <class T> MatrixProduct::Matrix matrix_at(const T* data, std::int64_t columns, bool transposed = false) {
  return {const_cast<std::byte*>(reinterpret_cast<const std::byte*>(data)), columns, transposed, 0};
}

/// Enqueues a product of matrices in memory: the vendor's or, if the vendor does not support it, our own.
template <class T> void product(cuda::Runtime& runtime, const MatrixProduct& p) {
  if (runtime.multiply(p)) return;
  const auto operand = [](const MatrixProduct::Matrix& of) {
    return MatrixOperand<T>{
        reinterpret_cast<const T*>(of.data), of.transposed ? 1 : of.distance, of.transposed ? of.distance : 1, {}};
  };
  ProductShape whole(p.m, p.n, p.k, 1);
  whole.splits = 1;
  whole.split_depth = p.k;
  cuda::multiply(runtime, whole, operand(p.a), operand(p.b), reinterpret_cast<T*>(p.c.data), p.c.distance, {},
                 static_cast<Computed<T>*>(nullptr));
}

/// Adds the result of a chunk to the sum of the previous chunks. The last chunk stores the sum.
template <class T>
struct AddChunk {
  static constexpr const char* name = "add a chunk";
  const T* part;
  Computed<T>* sums;
  T* out;
  bool first, last;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    const auto own = static_cast<Computed<T>>(part[i]), sum = first ? own : sums[i] + own;
    if (last)
      out[i] = static_cast<T>(sum);
    else
      sums[i] = sum;
  }
};

void convolve(Cuda& device, std::size_t most_patches_bytes, const Convolution& c, Addresses addresses) {
  cuda::Runtime& runtime = device.runtime();
  const ConvolutionShape& s = c.shape;
  const DType dtype = c.out.dtype;
  auto* workspace = at<std::byte>(addresses, c.workspace);
  if (cuda::is_depthwise(s))
    return cuda::depthwise(runtime, s, dtype, at<std::byte>(addresses, c.x), at<std::byte>(addresses, c.kernel),
                           at<std::byte>(addresses, c.out));
  cuda::with_stored(dtype, [&]<class T>(T) {
    const ConvolutionSizes sizes(s);
    const T *x = at<const T>(addresses, c.x), *kernel = at<const T>(addresses, c.kernel);
    T* out = at<T>(addresses, c.out);
    const auto times_kernel = [&](const T* a, std::int64_t rows, std::int64_t depth, T* to, std::byte* behind) {
      product<T>(runtime, {dtype, rows, s.filters, depth, 1, matrix_at(a, depth), matrix_at(kernel, s.filters),
                           matrix_at(to, s.filters), behind});
    };
    if (!by_vendor(runtime, s))
      cuda::multiply(runtime, forward_shape(s), cuda::PatchRows<T>{{x, sizes}},
                     MatrixOperand<T>{kernel, s.filters, 1, groups_of(s, s.filters / s.groups)}, out, s.filters,
                     groups_of(s, s.filters / s.groups), reinterpret_cast<Computed<T>*>(workspace));
    else if (is_pointwise(s))
      times_kernel(x, s.batch * s.rows * s.columns, s.channels, out, workspace);
    else {
      const Chunks chunks = Chunks::patches(s, dtype, most_patches_bytes);
      chunks.each([&](std::int64_t first, std::int64_t rows) {
        auto* patches = reinterpret_cast<T*>(workspace);
        cuda::lay_out(runtime, cuda::PatchRows<T>{{x, sizes}}, x, s.channels, first, rows, chunks.columns, patches);
        times_kernel(patches, rows, chunks.columns, out + first * s.filters, workspace + chunks.bytes(dtype));
      });
    }
  });
}

void convolve(Cuda& device, std::size_t most_patches_bytes, const ConvolutionInput& c, Operand spread,
              Addresses addresses) {
  cuda::Runtime& runtime = device.runtime();
  const ConvolutionShape& s = c.shape;
  const DType dtype = c.out.dtype;
  const Operand rest = behind(c.workspace, spread_bytes(c), dtype);
  auto* workspace = at<std::byte>(addresses, rest);
  if (cuda::is_depthwise(s))
    return cuda::depthwise_input(runtime, s, dtype, at<std::byte>(addresses, spread),
                                 at<std::byte>(addresses, c.kernel), at<std::byte>(addresses, c.out));
  cuda::with_stored(dtype, [&]<class T>(T) {
    const ConvolutionSizes sizes(s);
    const T *dy = at<const T>(addresses, spread), *kernel = at<const T>(addresses, c.kernel);
    T* out = at<T>(addresses, c.out);
    if (!by_vendor(runtime, s)) {
      cuda::multiply(runtime, input_shape(s), cuda::SeenBy<T>{dy, sizes}, cuda::TurnedKernel<T>{kernel, sizes}, out,
                     s.channels, groups_of(s, s.channels / s.groups), reinterpret_cast<Computed<T>*>(workspace));
    } else if (is_pointwise(s)) {
      product<T>(runtime, {dtype, s.batch * s.height * s.width, s.channels, s.filters, 1, matrix_at(dy, s.filters),
                           matrix_at(kernel, s.filters, true), matrix_at(out, s.channels), workspace});
    } else {
      // The kernel with a row for each tap and filter.
      device.run(
          instruction::Transpose{
              {s.window.cells(), s.filters, s.channels}, {s.channels * s.filters, 1, s.filters}, c.kernel, rest},
          addresses);
      const auto* turned = reinterpret_cast<const T*>(workspace);
      auto* seen = reinterpret_cast<T*>(workspace + turned_bytes(s, dtype));
      const Chunks chunks = Chunks::seen_by(s, dtype, most_patches_bytes);
      chunks.each([&](std::int64_t first, std::int64_t rows) {
        cuda::lay_out(runtime, cuda::SeenBy<T>{dy, sizes}, dy, s.filters, first, rows, chunks.columns, seen);
        product<T>(runtime, {dtype, rows, s.channels, chunks.columns, 1, matrix_at(seen, chunks.columns),
                             matrix_at(turned, s.channels), matrix_at(out + first * s.channels, s.channels),
                             reinterpret_cast<std::byte*>(seen) + chunks.bytes(dtype)});
      });
    }
  });
}

void convolve(Cuda& device, std::size_t most_patches_bytes, const ConvolutionFilter& c, Operand spread,
              Addresses addresses) {
  cuda::Runtime& runtime = device.runtime();
  const ConvolutionShape& s = c.shape;
  const DType dtype = c.out.dtype;
  const Operand rest = behind(c.workspace, spread_bytes(c), dtype);
  auto* workspace = at<std::byte>(addresses, rest);
  if (cuda::is_depthwise(s))
    return cuda::depthwise_filter(runtime, s, dtype, at<std::byte>(addresses, c.x), at<std::byte>(addresses, spread),
                                  at<std::byte>(addresses, c.out), workspace);
  cuda::with_stored(dtype, [&]<class T>(T) {
    const ConvolutionSizes sizes(s);
    const T *x = at<const T>(addresses, c.x), *dy = at<const T>(addresses, spread);
    T* out = at<T>(addresses, c.out);
    const auto times_dy = [&](const T* a, std::int64_t columns, std::int64_t rows, const T* b, T* to,
                              std::byte* behind) {
      product<T>(runtime, {dtype, columns, s.filters, rows, 1, matrix_at(a, columns, true), matrix_at(b, s.filters),
                           matrix_at(to, s.filters), behind});
    };
    if (!by_vendor(runtime, s))
      cuda::multiply(runtime, filter_shape(s), cuda::PatchColumns<T>{{x, sizes}},
                     MatrixOperand<T>{dy, s.filters, 1, groups_of(s, s.filters / s.groups)}, out, s.filters,
                     groups_of(s, s.filters / s.groups), reinterpret_cast<Computed<T>*>(workspace));
    else if (is_pointwise(s))
      times_dy(x, s.channels, s.batch * s.rows * s.columns, dy, out, workspace);
    else {
      const Chunks chunks = Chunks::patches(s, dtype, most_patches_bytes);
      auto* patches = reinterpret_cast<T*>(workspace);
      std::byte* behind = workspace + chunks.bytes(dtype);
      auto* sums = reinterpret_cast<Computed<T>*>(behind);
      behind += sum_bytes(s, chunks, dtype);
      auto* part = chunks.several() ? reinterpret_cast<T*>(behind) : out;
      behind += part_bytes(s, chunks, dtype);
      chunks.each([&](std::int64_t first, std::int64_t rows) {
        cuda::lay_out(runtime, cuda::PatchRows<T>{{x, sizes}}, x, s.channels, first, rows, chunks.columns, patches);
        times_dy(patches, chunks.columns, rows, dy + first * s.filters, part, behind);
        if (chunks.several())
          launch_each(runtime, chunks.columns * s.filters,
                      AddChunk<T>{part, sums, out, first == 0, first + rows == chunks.rows});
      });
    }
  });
}

/// The workspace of our ways, without that of unpooling.
std::size_t our_workspace(const cuda::Runtime& runtime, std::size_t most_patches_bytes, const Convolution& c) {
  const ConvolutionShape& s = c.shape;
  const DType dtype = c.out.dtype;
  if (cuda::is_depthwise(s)) return 0;
  if (!by_vendor(runtime, s)) return forward_shape(s).part_bytes(dtype);
  if (is_pointwise(s)) return runtime.product_workspace();
  return Chunks::patches(s, dtype, most_patches_bytes).bytes(dtype) + runtime.product_workspace();
}
std::size_t our_workspace(const cuda::Runtime& runtime, std::size_t most_patches_bytes, const ConvolutionInput& c) {
  const ConvolutionShape& s = c.shape;
  const DType dtype = c.out.dtype;
  if (cuda::is_depthwise(s)) return 0;
  if (!by_vendor(runtime, s)) return input_shape(s).part_bytes(dtype);
  if (is_pointwise(s)) return runtime.product_workspace();
  return turned_bytes(s, dtype) + Chunks::seen_by(s, dtype, most_patches_bytes).bytes(dtype) +
         runtime.product_workspace();
}
std::size_t our_workspace(const cuda::Runtime& runtime, std::size_t most_patches_bytes, const ConvolutionFilter& c) {
  const ConvolutionShape& s = c.shape;
  const DType dtype = c.out.dtype;
  if (cuda::is_depthwise(s)) return cuda::depthwise_filter_bytes(s, dtype);
  if (!by_vendor(runtime, s)) return filter_shape(s).part_bytes(dtype);
  if (is_pointwise(s)) return runtime.product_workspace();
  const Chunks chunks = Chunks::patches(s, dtype, most_patches_bytes);
  return chunks.bytes(dtype) + sum_bytes(s, chunks, dtype) + part_bytes(s, chunks, dtype) + runtime.product_workspace();
}

}  // namespace

std::size_t Cuda::wanted_workspace(const Convolution& c) const {
  return std::max(our_workspace(*runtime_, options_.most_patches_bytes, c),
                  cuda::vendor_workspace(*runtime_, c.shape, c.out.dtype));
}
std::size_t Cuda::wanted_workspace(const ConvolutionInput& c) const {
  return spread_bytes(c) + std::max(our_workspace(*runtime_, options_.most_patches_bytes, c),
                                    cuda::vendor_workspace(*runtime_, c.shape, c.out.dtype));
}
std::size_t Cuda::wanted_workspace(const ConvolutionFilter& c) const {
  return spread_bytes(c) + std::max(our_workspace(*runtime_, options_.most_patches_bytes, c),
                                    cuda::vendor_workspace(*runtime_, c.shape, c.out.dtype));
}

std::string_view Cuda::method(const Instruction& instruction) const {
  const auto of_vendor = [&](ConvolutionPass pass, const auto& convolution) {
    return cuda::vendor_method(*runtime_, pass, convolution.shape, convolution.out.dtype);
  };
  if (const auto* gemm = std::get_if<instruction::Gemm>(&instruction)) return by_program(*gemm) ? "a program" : "";
  if (const auto* one = std::get_if<Convolution>(&instruction)) return of_vendor(ConvolutionPass::forward, *one);
  if (const auto* one = std::get_if<ConvolutionInput>(&instruction)) return of_vendor(ConvolutionPass::input, *one);
  if (const auto* one = std::get_if<ConvolutionFilter>(&instruction)) return of_vendor(ConvolutionPass::filter, *one);
  return "";
}

void Cuda::compute(const Convolution& c, Addresses addresses) {
  cuda::convolve_fastest(*this, {ConvolutionPass::forward, c.shape, c.x, c.kernel, c.out, c.workspace}, addresses,
                         [&] { convolve(*this, options_.most_patches_bytes, c, addresses); });
  if (c.epilogue) run(*c.epilogue, addresses);
}
void Cuda::compute(const ConvolutionInput& c, Addresses addresses) {
  const Operand dy = spread_out(*this, c, addresses), rest = behind(c.workspace, spread_bytes(c), c.out.dtype);
  cuda::convolve_fastest(*this, {ConvolutionPass::input, c.shape, c.out, c.kernel, dy, rest}, addresses,
                         [&] { convolve(*this, options_.most_patches_bytes, c, dy, addresses); });
  if (c.epilogue) run(*c.epilogue, addresses);
}
void Cuda::compute(const ConvolutionFilter& c, Addresses addresses) {
  const Operand dy = spread_out(*this, c, addresses), rest = behind(c.workspace, spread_bytes(c), c.out.dtype);
  cuda::convolve_fastest(*this, {ConvolutionPass::filter, c.shape, c.x, c.out, dy, rest}, addresses,
                         [&] { convolve(*this, options_.most_patches_bytes, c, dy, addresses); });
  if (c.epilogue) run(*c.epilogue, addresses);
}

}  // namespace etude
