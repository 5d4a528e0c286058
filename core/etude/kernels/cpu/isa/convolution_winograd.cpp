#include "etude/kernels/cpu/isa/convolution_winograd.hpp"

#include "etude/kernels/cpu/isa/convolution_parts.hpp"
#include "etude/kernels/cpu/isa/pooling.hpp"
#include "etude/kernels/cpu/isa/winograd_transforms.hpp"
#include "etude/kernels/cpu/isa/workspace.hpp"

// Winograd's algorithm for kernels of 3 · 3: y in tiles of 2 · 2, each from 4 · 4 pixels of x. A tile takes 16
// multiplications for each channel and filter; direct summation takes 36. They form 16 matrix products, tiles ·
// channels by channels · filters, for a block of tiles that stays in the caches. With pooling, a tile is one of its
// windows.

namespace etude::cpu::ETUDE_ISA {
namespace {

using winograd::kernel_extent;
using winograd::products;
using winograd::Square;
using winograd::tile_in;
using winograd::tile_out;

/// Tiles of a block: each product reads its panel of the kernel once for this many tiles.
constexpr Index block_tiles = 24;

template <class T> struct Winograd {
  const ConvolutionArguments<T>& g;
  Index tile_lines, tile_columns, tiles, blocks;
  Index channels, distance;  // elements of a tile's pixels in one product, and from product to product
  Index panel;               // elements of the kernel in one product, of a register tile's filters
  Index parts;
  T* filters;
  static constexpr const auto& register_tiles = ETUDE_ISA::tiles<T, Reads::direct, Keeps::nothing>;

  /// The buffers of one part.
  struct Buffers {
    T *pixels, *sums, *patch, *which;
  };
  Buffers buffers_of[max_parts];
  Turns turns{0, 1};  // over blocks

  Winograd(const ConvolutionArguments<T>& arguments, Index workers, Workspace& workspace) : g(arguments) {
    tile_lines = g.pooled ? g.pooled_rows : quotient_up(g.rows, tile_out);
    tile_columns = g.pooled ? g.pooled_columns : quotient_up(g.columns, tile_out);
    tiles = g.batch * tile_lines * tile_columns;
    channels = round_up(g.channels, lanes<T>);
    blocks = quotient_up(tiles, block_tiles);
    // Products begin at different lines of the cache.
    distance = block_tiles * channels + 64 / static_cast<Index>(sizeof(T));
    panel = g.channels * tile_width<T>;
    parts = parts_of(blocks, std::int64_t{tiles} * products * g.channels * g.filters, workers);
    turns = Turns(blocks, parts);
    filters = workspace.allocate<T>(quotient_up(g.filters, tile_width<T>) * products * panel);
    for (Index part = 0; part < parts; ++part) {
      Buffers& mine = buffers_of[part];
      mine.pixels = workspace.allocate<T>(products * distance);
      mine.sums = workspace.allocate<T>(block_tiles * products * tile_width<T>);
      mine.patch = workspace.allocate<T>(products * g.channels);
      if (g.pooled) mine.which = workspace.allocate<T>(block_tiles * g.filters);
    }
  }

  void prepare() {
    const Index row = kernel_extent * g.channels * g.filters, column = g.channels * g.filters;
    for (Index j = 0; j < g.filters; j += lanes<T>)
      for (Index c = 0; c < g.channels; ++c)
        winograd::transform_filter<T>(
            {g.kernel + c * g.filters + j, row, column}, g.filters - j,
            filters + j / tile_width<T> * products * panel + c * tile_width<T> + j % tile_width<T>, panel);
  }

  static void run(void* context, int part) {
    Winograd& job = *static_cast<Winograd*>(context);
    for (Index block, end; job.turns.next(block, end);)
      for (; block < end; ++block) {
        const Index first = block * block_tiles;
        job.compute(first, smaller(block_tiles, job.tiles - first), job.buffers_of[part]);
      }
  }

  /// The position of a tile in y.
  struct Place {
    Index image, line, column;
  };
  Place place(Index tile) const {
    const Index row = tile / tile_columns;
    return {row / tile_lines, row % tile_lines * tile_out, tile % tile_columns * tile_out};
  }

  void compute(Index first, Index count, const Buffers& mine) const {
    for (Index t = 0; t < count; ++t) transform_pixels(place(first + t), mine.pixels + t * channels, mine.patch);
    for (Index j = 0; j < g.filters; j += tile_width<T>) {
      multiply(count, smaller(g.filters - j, tile_width<T>), filters + j / tile_width<T> * products * panel, mine);
      for (Index t = 0; t < count; ++t) finish(first, t, j, mine);
    }
    if (g.pooled && g.index) to_index(mine.which, count * g.filters, g.index + first * g.filters);
    if (g.rows_done) done(first, count);
  }

  void transform_pixels(Place p, T* to, T* patch) const {
    const Index y = p.line - g.before_y, x = p.column - g.before_x;
    Square<T> d{g.x + ((p.image * g.height + y) * g.width + x) * g.channels, g.width * g.channels, g.channels};
    if (y < 0 || x < 0 || y + tile_in > g.height || x + tile_in > g.width) {
      copy_patch(d, y, x, patch);
      d = {patch, tile_in * g.channels, g.channels};
    }
    for (Index c = 0; c < g.channels; c += lanes<T>, d.data += lanes<T>)
      winograd::transform_input(d, g.channels - c, to + c, distance);
  }

  /// Copies a tile that extends beyond the image, with zeros outside.
  void copy_patch(const Square<T>& d, Index y, Index x, T* patch) const {
    for (Index i = 0; i < tile_in; ++i)
      for (Index j = 0; j < tile_in; ++j, patch += g.channels) {
        if (y + i < 0 || y + i >= g.height || x + j < 0 || x + j >= g.width)
          zero_elements(patch, g.channels);
        else
          copy_elements(d.data + i * d.row + j * d.column, g.channels, patch);
      }
  }

  void multiply(Index count, Index wide, const T* panels, const Buffers& mine) const {
    const Index vectors = quotient_up(wide, lanes<T>);
    for (Index k = 0; k < products; ++k)
      for (Index i = 0, height = 0; i < count; i += height) {
        height = tile_height(count - i);
        register_tiles[height][vectors](
            {g.channels, mine.pixels + k * distance + i * channels, channels, 1, panels + k * panel, tile_width<T>,
             mine.sums + (i * products + k) * tile_width<T>, products * tile_width<T>, false, nullptr});
      }
  }

  /// Finishes the filters [j, j + tile_width) of a block's tile t.
  void finish(Index first, Index t, Index j, const Buffers& mine) const {
    const Index end = smaller(g.filters - j, tile_width<T>);
    const Place p = place(first + t);
    const bool right = p.column + 1 < g.columns, below = p.line + 1 < g.rows;
    const T* sums = mine.sums + t * products * tile_width<T>;
    for (Index v = 0; v < end; v += lanes<T>) {
      Vec<T> y[tile_out * tile_out];
      winograd::transform_output(sums + v, tile_width<T>, y);
      const Index here = end - v;
      if (g.pooled) {
        T* const out = g.out + (first + t) * g.filters + j + v;
        pool(y, right, below, here, out, mine.which + t * g.filters + j + v);
      } else {
        T* const out = g.out + ((p.image * g.rows + p.line) * g.columns + p.column) * g.filters + j + v;
        put(out, y[0], here);
        if (right) put(out + g.filters, y[1], here);
        if (below) put(out + g.columns * g.filters, y[2], here);
        if (right && below) put(out + (g.columns + 1) * g.filters, y[3], here);
      }
    }
  }

  [[gnu::always_inline]] static void put(T* to, Vec<T> value, Index count) {
    if (count >= lanes<T>)
      store(to, value);
    else
      store_first(to, value, count);
  }

  /// Like pool_cells. Cells outside y repeat a cell inside it, and so never win.
  [[gnu::always_inline]] static void pool(Vec<T> (&y)[4], bool right, bool below, Index count, T* out, T* which) {
    Vec<T> best = y[0], name = broadcast(T(0));
    const auto cell = [&](bool there, auto i) __attribute__((always_inline)) {
      if (!there) return;
      const auto better = xsimd::bitwise_andnot(best == best, y[i] <= best);
      best = xsimd::select(better, y[i], best);
      name = xsimd::select(better, broadcast(static_cast<T>(i)), name);
    };
    cell(right, std::integral_constant<int, 1>());
    cell(below, std::integral_constant<int, 2>());
    cell(right && below, std::integral_constant<int, 3>());
    put(out, best, count);
    put(which, name, count);
  }

  /// Passes the rows of the tiles [first, first + count) to the epilogue.
  void done(Index first, Index count) const {
    if (g.pooled) return g.rows_done(g.context, first, first + count);
    for (Index t = first, next = 0; t < first + count; t = next) {
      next = smaller(first + count, (t / tile_columns + 1) * tile_columns);
      const Place p = place(t);
      const Index row = (p.image * g.rows + p.line) * g.columns, begin = row + p.column,
                  end = smaller(begin + (next - t) * tile_out, row + g.columns);
      g.rows_done(g.context, begin, end);
      if (p.line + 1 < g.rows) g.rows_done(g.context, begin + g.columns, end + g.columns);
    }
  }
};

}  // namespace

template <class T> void convolve_winograd(const ConvolutionArguments<T>& arguments, const Workers& workers) {
  Workspace workspace(arguments.workspace);
  Winograd<T> job(arguments, workers.count, workspace);
  job.prepare();
  fan_out(workers, job.parts, Winograd<T>::run, &job);
}

template <class T> std::int64_t convolve_winograd_workspace(const ConvolutionArguments<T>& arguments, int workers) {
  Workspace workspace(nullptr);
  const Winograd<T> job(arguments, workers, workspace);
  return workspace.used();
}

template void convolve_winograd(const ConvolutionArguments<float>&, const Workers&);
template std::int64_t convolve_winograd_workspace(const ConvolutionArguments<float>&, int);
#ifdef ETUDE_FLOAT64
template void convolve_winograd(const ConvolutionArguments<double>&, const Workers&);
template std::int64_t convolve_winograd_workspace(const ConvolutionArguments<double>&, int);
#endif

}  // namespace etude::cpu::ETUDE_ISA
