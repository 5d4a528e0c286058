#include "etude/kernels/cpu/isa/convolution_depthwise.hpp"
#include "etude/kernels/cpu/isa/convolution_sparse.hpp"
#include "etude/kernels/cpu/isa/gather_tile.hpp"
#include "etude/kernels/cpu/isa/transpose.hpp"
#include "etude/kernels/cpu/isa/unpooling.hpp"
#include "etude/kernels/cpu/isa/workspace.hpp"

// The gradient of a convolution with respect to x. For each row u of the window, every pixel of dy times that row of
// the kernel is a piece of a row of dx, added at the window's position: this works for any stride and dilation. Each
// part processes one image at a time.

namespace etude::cpu::ETUDE_ISA {
namespace {

constexpr Index piece_bytes = 16384;

/// Adds the sum over n < count of dy[filter[n]] · rows[filter[n]] to Count registers of `to`; only elements [low, high)
/// of them exist.
template <class T, int Count>
[[gnu::noinline]] void add_weighted_rows(const std::int32_t* filter, const T* dy, Index count, const T* rows,
                                         Index distance, Index low, Index high, T* to) {
  Vec<T> sum[Count];
  unroll<Count>([&](auto v) { sum[v] = broadcast(T(0)); });
  for (Index n = 0; n < count; ++n) {
    const T* row = rows + filter[n] * distance;
    const Vec<T> factor = broadcast(dy[filter[n]]);
    unroll<Count>([&](auto v) { sum[v] = madd(factor, load(row + v * lanes<T>), sum[v]); });
  }
  if (low <= 0 && high >= Count * lanes<T>) {
    unroll<Count>([&](auto v) { store(to + v * lanes<T>, load(to + v * lanes<T>) + sum[v]); });
    return;
  }
  alignas(64) T aside[Count * lanes<T>];
  unroll<Count>([&](auto v) { store(aside + v * lanes<T>, sum[v]); });
  for (Index i = larger(low, 0); i < smaller(high, Count * lanes<T>); ++i) to[i] += aside[i];
}

template <class T> constexpr auto add_weighted_rows_of =
    table<sparse_vectors>([]<int Count> { return &add_weighted_rows<T, Count>; });

template <class T> struct Input {
  const ConvolutionArguments<T>& g;
  Index parts, channels, filters;      // of a group
  Index piece, band;                   // elements of a row's piece, pixels that are multiplied at a time
  Index panel_distance, row_distance;  // of the panels; of those of one row of the window
  T* panels;
  Index* offsets;
  struct Buffers {
    T *unpooled, *pieces;
    const T** rows;
    EntriesOfPixels<T> entries;
  };
  Buffers buffers_of[max_parts];
  Turns turns{0, 1};  // over images

  Input(const ConvolutionArguments<T>& arguments, Index workers, Workspace& workspace) : g(arguments) {
    channels = g.channels / g.groups;
    filters = g.filters / g.groups;
    parts = parts_of(
        g.batch, std::int64_t{g.batch} * g.rows * g.columns * g.kernel_height * g.kernel_width * channels * g.filters,
        workers);
    turns = Turns(g.batch, parts);
    piece = g.kernel_width * channels;
    band = larger(smaller(piece_bytes / (piece * static_cast<Index>(sizeof(T))), g.rows * g.columns), tile_rows);
    panel_distance = filters * tile_width<T>;
    row_distance = quotient_up(piece, tile_width<T>) * panel_distance;
    const bool sparse = g.gradient == GradientMethod::sparse;
    panels = workspace.allocate<T>(g.groups * g.kernel_height * (sparse ? filters * piece : row_distance));
    offsets = workspace.allocate<Index>(filters);
    for (Index part = 0; part < parts; ++part) {
      Buffers& mine = buffers_of[part];
      if (sparse) {
        mine.entries = EntriesOfPixels<T>(g, workspace);
        continue;
      }
      if (g.pooled) mine.unpooled = workspace.allocate<T>(g.rows * g.columns * g.filters);
      mine.pieces = workspace.allocate<T>(band * piece);
      mine.rows = workspace.allocate<const T*>(band);
    }
  }

  void prepare() {
    if (g.gradient == GradientMethod::sparse) {
      // [kernel height][filters][piece]
      T* to = panels;
      for (Index u = 0; u < g.kernel_height; ++u, to += filters * piece)
        transpose_matrix(g.kernel + u * piece * g.filters, g.filters, to, piece, piece, g.filters);
      return;
    }
    for (Index group = 0; group < g.groups; ++group)
      for (Index u = 0; u < g.kernel_height; ++u)
        pack_b(Operand<T>{g.kernel + u * piece * g.filters + group * filters, 1, g.filters}, filters, piece,
               panels + (group * g.kernel_height + u) * row_distance);
    for (Index f = 0; f < filters; ++f) offsets[f] = f * static_cast<Index>(sizeof(T));
  }

  static void run(void* context, int part) {
    Input& job = *static_cast<Input*>(context);
    for (Index image, end; job.turns.next(image, end);)
      for (; image < end; ++image) job.compute_image(image, job.buffers_of[part]);
  }

  void compute_image(Index image, const Buffers& mine) const {
    const Index elements = g.height * g.width * g.channels;
    T* dx = g.out + image * elements;
    zero_elements(dx, elements);
    if (g.gradient == GradientMethod::sparse) {
      add_sparse(image, mine, dx);
    } else {
      const T* dy = g.dy + image * g.rows * g.columns * g.filters;
      if (g.pooled) {
        unpool(g, image, 0, g.filters, mine.unpooled, g.filters);
        dy = mine.unpooled;
      }
      for (Index u = 0; u < g.kernel_height; ++u)
        for (Index group = 0; group < g.groups; ++group) add_dense(dy, u, group, mine, dx);
    }
    if (g.rows_done) g.rows_done(g.context, image * g.height * g.width, (image + 1) * g.height * g.width);
  }

  /// Adds row u of the window, for one group and all pixels whose row u of the window lies in the image.
  void add_dense(const T* dy, Index u, Index group, const Buffers& mine, T* dx) const {
    const Index shift = u * g.dilation_y - g.before_y;
    Index low = 0, high = g.rows;
    while (low < high && low * g.stride_y + shift < 0) ++low;
    while (high > low && (high - 1) * g.stride_y + shift >= g.height) --high;
    const T* panel = panels + (group * g.kernel_height + u) * row_distance;
    for (Index begin = low * g.columns; begin < high * g.columns; begin += band) {
      const Index count = smaller(high * g.columns - begin, band);
      for (Index i = 0; i < count; ++i) mine.rows[i] = dy + (begin + i) * g.filters + group * filters;
      gather_multiply(mine.rows, count, offsets, filters, panel, panel_distance, piece, mine.pieces, piece, false);
      for (Index i = 0; i < count; ++i) {
        const Index y = (begin + i) / g.columns * g.stride_y + shift;
        add_piece(mine.pieces + i * piece, (begin + i) % g.columns, dx + (y * g.width * g.groups + group) * channels);
      }
    }
  }

  /// Adds the piece of a row of dx that belongs to a pixel in column j.
  void add_piece(const T* from, Index j, T* row) const {
    const Index x = j * g.stride_x - g.before_x;
    if (g.groups == 1 && g.dilation_x == 1) {
      const Index low = larger(-x, 0), high = smaller(g.kernel_width, g.width - x);
      if (low < high) add_elements(from + low * channels, (high - low) * channels, row + (x + low) * channels);
      return;
    }
    for (Index v = 0; v < g.kernel_width; ++v)
      if (const Index at = x + v * g.dilation_x; at >= 0 && at < g.width)
        add_elements(from + v * channels, channels, row + at * g.channels);
  }

  /// In the order of add_dense, pixel by pixel, because an element of dx gets terms from several pixels.
  void add_sparse(Index image, const Buffers& mine, T* dx) const {
    constexpr Index most = sparse_vectors * lanes<T>;
    const Index from = image * g.pooled_rows * g.pooled_columns * g.filters;
    mine.entries.collect(g, g.dy + from, g.index + from);
    for (Index u = 0; u < g.kernel_height; ++u)
      mine.entries.for_each(
          g, g.dy + from, [&](Index i, Index j, const T* dy, const std::int32_t* filter, Index count) {
            const Index y = i * g.stride_y + u * g.dilation_y - g.before_y, x = j * g.stride_x - g.before_x;
            if (y < 0 || y >= g.height) return;
            for (Index c = 0; c < piece; c += most)
              add_weighted_rows_of<T>[smaller(piece - c, most) / lanes<T>](
                  filter, dy, count, panels + u * filters * piece + c, piece, -x * channels - c,
                  (g.width - x) * channels - c, dx + (y * g.width + x) * channels + c);
          });
  }
};

/// By GradientMethod.
template <class T>
constexpr MethodKernel<T> methods[] = {
    {}, {}, {}, {convolve_depthwise_input<T>, convolve_depthwise_input_workspace<T>}};
template <class T> const MethodKernel<T>& method_of(const ConvolutionArguments<T>& arguments) {
  return methods<T>[static_cast<int>(arguments.gradient)];
}

}  // namespace

template <class T> void convolve_input(const ConvolutionArguments<T>& arguments, const Workers& workers) {
  if (const auto run = method_of(arguments).run) return run(arguments, workers);
  Workspace workspace(arguments.workspace);
  Input<T> job(arguments, workers.count, workspace);
  job.prepare();
  fan_out(workers, job.parts, Input<T>::run, &job);
}

template <class T> std::int64_t convolve_input_workspace(const ConvolutionArguments<T>& arguments, int workers) {
  if (const auto workspace_of = method_of(arguments).workspace) return workspace_of(arguments, workers);
  Workspace workspace(nullptr);
  const Input<T> job(arguments, workers, workspace);
  return workspace.used();
}

template void convolve_input(const ConvolutionArguments<float>&, const Workers&);
template std::int64_t convolve_input_workspace(const ConvolutionArguments<float>&, int);
#ifdef ETUDE_FLOAT64
template void convolve_input(const ConvolutionArguments<double>&, const Workers&);
template std::int64_t convolve_input_workspace(const ConvolutionArguments<double>&, int);
#endif

}  // namespace etude::cpu::ETUDE_ISA
