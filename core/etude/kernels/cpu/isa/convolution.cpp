#include "etude/kernels/cpu/convolution_kernels.hpp"

#include "etude/kernels/cpu/isa/convolution_depthwise.hpp"
#include "etude/kernels/cpu/isa/convolution_parts.hpp"
#include "etude/kernels/cpu/isa/convolution_winograd.hpp"
#include "etude/kernels/cpu/isa/gather_tile.hpp"
#include "etude/kernels/cpu/isa/pooling.hpp"
#include "etude/kernels/cpu/isa/workspace.hpp"

// The convolution as a matrix product whose left operand is gathered from the image: pixels · cells. A band of rows is
// computed at a time, then pooled and passed to the epilogue while it is in the first-level cache.

namespace etude::cpu::ETUDE_ISA {
namespace {

/// The bytes of y that are computed before they are pooled or passed to the epilogue.
constexpr Index band_bytes = 16384;

template <class T> struct Forward {
  const ConvolutionArguments<T>& g;
  Index parts;
  // Of the result: its rows and columns, and how many pixels of y each of its rows is made of.
  Index result_rows, result_columns, row_pixels;
  Index band, bands;  // rows of the result that are computed at a time
  Index depth, columns, panel_distance, group_distance;
  PaddedImage<T> padding;
  T* panels;
  Index* offsets;

  /// The buffers of one part.
  struct Buffers {
    T *image, *buffer, *which;
    const T** rows;
  };
  Buffers buffers_of[max_parts];
  Turns turns{0, 1};  // over bands of images

  Forward(const ConvolutionArguments<T>& arguments, Index workers, Workspace& workspace)
      : g(arguments), padding(arguments) {
    result_rows = g.pooled ? g.pooled_rows : g.rows;
    result_columns = g.pooled ? g.pooled_columns : g.columns;
    row_pixels = g.pooled ? result_columns * g.pool_height * g.pool_width : result_columns;
    const Index row_bytes = row_pixels * g.filters * static_cast<Index>(sizeof(T));
    band = larger(smaller(band_bytes / larger(row_bytes, 1), result_rows), 1);
    bands = quotient_up(result_rows, band);
    band = quotient_up(result_rows, bands);
    bands = quotient_up(result_rows, band);
    parts = parts_of(g.batch * bands,
                     std::int64_t{g.batch} * g.rows * g.columns * g.kernel_height * g.kernel_width *
                         (g.channels / g.groups) * g.filters,
                     workers);
    turns = Turns(g.batch * bands, parts);
    depth = g.kernel_height * g.kernel_width * (g.channels / g.groups);
    columns = g.filters / g.groups;
    panel_distance = depth * tile_width<T>;
    group_distance = quotient_up(columns, tile_width<T>) * panel_distance;
    panels = workspace.allocate<T>(g.groups * group_distance);
    offsets = workspace.allocate<Index>(depth);
    for (Index part = 0; part < parts; ++part) {
      Buffers& mine = buffers_of[part];
      mine.image = workspace.allocate<T>(padding.elements());
      mine.rows = workspace.allocate<const T*>(band * row_pixels);
      if (!g.pooled) continue;
      mine.buffer = workspace.allocate<T>(band * row_pixels * g.filters);
      mine.which = workspace.allocate<T>(g.pooled_columns * g.filters);
    }
  }

  void prepare() {
    for (Index group = 0; group < g.groups; ++group)
      pack_b(Operand<T>{g.kernel + group * columns, g.filters, 1}, depth, columns, panels + group * group_distance);
    Index* next = offsets;
    const Index channels = g.channels / g.groups;
    for (Index u = 0; u < g.kernel_height; ++u)
      for (Index v = 0; v < g.kernel_width; ++v)
        for (Index c = 0; c < channels; ++c)
          *next++ =
              ((u * g.dilation_y * padding.width + v * g.dilation_x) * g.channels + c) * static_cast<Index>(sizeof(T));
  }

  static void run(void* context, int part) {
    Forward& job = *static_cast<Forward*>(context);
    const Buffers& mine = job.buffers_of[part];
    Index copied = -1;
    for (Index unit, end; job.turns.next(unit, end);)
      for (; unit < end; ++unit) {
        const Index image = unit / job.bands;
        const T* x = job.g.x + image * job.g.height * job.g.width * job.g.channels;
        if (job.padding.needed) {
          if (copied != image) job.padding.copy(x, mine.image);
          copied = image;
          x = mine.image;
        }
        job.compute_band(x, image, unit % job.bands * job.band, mine);
      }
  }

  void compute_band(const T* x, Index image, Index first, const Buffers& mine) const {
    const Index count = smaller(band, result_rows - first), row = image * result_rows + first;
    if (g.forward == ForwardMethod::in_registers)
      for (Index p = 0; p < count; ++p) pooled_in_registers(x, first + p, row + p, mine);
    else if (g.pooled)
      pooled(x, first, count, row, mine);
    else
      plain(x, first, count, row, mine);
    if (g.rows_done) g.rows_done(g.context, row * result_columns, (row + count) * result_columns);
  }

  const T* pixel(const T* x, Index i, Index j) const {
    return x + (i * g.stride_y * padding.width + j * g.stride_x) * g.channels;
  }

  void multiply(Index pixels, const T** rows, T* y) const {
    for (Index group = 0; group < g.groups; ++group) {
      gather_multiply(rows, pixels, offsets, depth, panels + group * group_distance, panel_distance, columns,
                      y + group * columns, g.filters, false);
      for (Index i = 0; i < pixels && group + 1 < g.groups; ++i) rows[i] += g.channels / g.groups;
    }
  }

  void plain(const T* x, Index first, Index count, Index row, const Buffers& mine) const {
    const T** next = mine.rows;
    for (Index i = first; i < first + count; ++i)
      for (Index j = 0; j < g.columns; ++j) *next++ = pixel(x, i, j);
    multiply(next - mine.rows, mine.rows, g.out + row * result_columns * g.filters);
  }

  /// Cells of y outside the image are computed from the nearest pixel and ignored.
  void pooled(const T* x, Index first, Index count, Index row, const Buffers& mine) const {
    const T** next = mine.rows;
    for (Index p = first; p < first + count; ++p)
      for (Index i = 0; i < g.pool_height; ++i) {
        const Index y = larger(smaller(p * g.pool_stride_y - g.pool_before_y + i, g.rows - 1), 0);
        for (Index q = 0; q < g.pooled_columns; ++q)
          for (Index j = 0; j < g.pool_width; ++j)
            *next++ = pixel(x, y, larger(smaller(q * g.pool_stride_x - g.pool_before_x + j, g.columns - 1), 0));
      }
    multiply(next - mine.rows, mine.rows, mine.buffer);
    for (Index p = 0; p < count; ++p) {
      const Index at = (row + p) * g.pooled_columns * g.filters;
      for (Index q = 0; q < g.pooled_columns; ++q) pool(p, first + p, q, g.out + at + q * g.filters, mine);
      if (g.index) to_index(mine.which, g.pooled_columns * g.filters, g.index + at);
    }
  }

  /// Computes a row of windows, each of them summed and pooled in one tile.
  void pooled_in_registers(const T* x, Index pooled_row, Index row, const Buffers& mine) const {
    const Index cells = g.pool_height * g.pool_width, at = row * g.pooled_columns * g.filters;
    const T **rows = mine.rows, **next = rows;
    for (Index i = 0; i < g.pool_height; ++i)
      for (Index j = 0; j < g.pool_width; ++j) *next++ = pixel(x, pooled_row * g.pool_stride_y + i, j);
    const Index step = g.pool_stride_x * g.stride_x * g.channels, count = g.pooled_columns * cells;
    for (Index n = cells; n < count; ++n) rows[n] = rows[n - cells] + step;
    for (Index j = 0; j < columns; j += tile_width<T>) {
      const auto tile = largest_tiles<T>[cells][smaller(columns - j, tile_width<T>) / lanes<T>];
      for (Index q = 0; q < g.pooled_columns; ++q)
        tile({mine.rows + q * cells, offsets, depth, panels + j / tile_width<T> * panel_distance,
              g.out + at + q * g.filters + j, 0, false},
             mine.which + q * g.filters + j);
    }
    if (g.index) to_index(mine.which, g.pooled_columns * g.filters, g.index + at);
  }

  /// Pools one window of row p of the band, which is row `pooled_row` of the image.
  void pool(Index p, Index pooled_row, Index q, T* out, const Buffers& mine) const {
    const Index y = pooled_row * g.pool_stride_y - g.pool_before_y, x = q * g.pool_stride_x - g.pool_before_x;
    const Index line = g.pooled_columns * g.pool_width;
    PoolCells<T> cells{mine.buffer + (p * g.pool_height * line + q * g.pool_width) * g.filters,
                       line * g.filters,
                       g.filters,
                       g.pool_width,
                       0,
                       0,
                       0,
                       0};
    cells.clip(y, x, g.rows, g.columns, g.pool_height);
    pool_cells(cells, g.filters, out, mine.which + q * g.filters);
  }
};

/// By ForwardMethod.
template <class T>
constexpr MethodKernel<T> methods[] = {{},
                                       {},
                                       {convolve_winograd<T>, convolve_winograd_workspace<T>},
                                       {convolve_depthwise<T>, convolve_depthwise_workspace<T>}};
template <class T> const MethodKernel<T>& method_of(const ConvolutionArguments<T>& arguments) {
  return methods<T>[static_cast<int>(arguments.forward)];
}

}  // namespace

template <class T> void convolve(const ConvolutionArguments<T>& arguments, const Workers& workers) {
  if (const auto run = method_of(arguments).run) return run(arguments, workers);
  Workspace workspace(arguments.workspace);
  Forward<T> job(arguments, workers.count, workspace);
  job.prepare();
  fan_out(workers, job.parts, Forward<T>::run, &job);
}

template <class T> std::int64_t convolve_workspace(const ConvolutionArguments<T>& arguments, int workers) {
  if (const auto workspace_of = method_of(arguments).workspace) return workspace_of(arguments, workers);
  Workspace workspace(nullptr);
  const Forward<T> job(arguments, workers, workspace);
  return workspace.used();
}

template void convolve(const ConvolutionArguments<float>&, const Workers&);
template std::int64_t convolve_workspace(const ConvolutionArguments<float>&, int);
#ifdef ETUDE_FLOAT64
template void convolve(const ConvolutionArguments<double>&, const Workers&);
template std::int64_t convolve_workspace(const ConvolutionArguments<double>&, int);
#endif

}  // namespace etude::cpu::ETUDE_ISA
