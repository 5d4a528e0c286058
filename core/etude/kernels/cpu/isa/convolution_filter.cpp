#include "etude/kernels/cpu/isa/convolution_depthwise.hpp"
#include "etude/kernels/cpu/isa/convolution_shallow.hpp"
#include "etude/kernels/cpu/isa/convolution_sparse.hpp"
#include "etude/kernels/cpu/isa/gather_tile.hpp"
#include "etude/kernels/cpu/isa/transpose.hpp"
#include "etude/kernels/cpu/isa/unpooling.hpp"
#include "etude/kernels/cpu/isa/workspace.hpp"

// The gradient of a convolution with respect to its kernel: the rows are the kernel's cells and channels, the depth is
// the pixels of all images in order. Parts divide the kernel, not the images, so that each element is one sum in one
// order.

namespace etude::cpu::ETUDE_ISA {
namespace {

/// sums [Count registers] += the sum over n < count of value[n] · x[offset[n] ..].
template <class T, int Count>
[[gnu::noinline]] void add_weighted_pieces(const Index* offset, const T* value, Index count, const T* x, T* sums) {
  Vec<T> sum[Count];
  unroll<Count>([&](auto v) { sum[v] = load(sums + v * lanes<T>); });
  for (Index n = 0; n < count; ++n) {
    const T* piece = x + offset[n];
    const Vec<T> factor = broadcast(value[n]);
    unroll<Count>([&](auto v) { sum[v] = madd(load(piece + v * lanes<T>), factor, sum[v]); });
  }
  unroll<Count>([&](auto v) { store(sums + v * lanes<T>, sum[v]); });
}

template <class T> constexpr auto add_weighted_pieces_of =
    table<sparse_vectors>([]<int Count> { return &add_weighted_pieces<T, Count>; });

template <class T> struct Filter {
  const ConvolutionArguments<T>& g;
  Index parts, channels, filters;  // of a group
  Index cells, pixels;             // rows of dkernel; of y
  Index panel_count, blocks;       // panels of all groups; blocks of rows of each panel
  bool sparse, shallow;
  PaddedImage<T> padding;
  Index *offsets, *cell_offsets;  // of pixels, in bytes; of the cells and their channels, in elements
  T* transposed;                  // dkernel as [filters][cells], if sparse
  struct Buffers {
    T *image, *panel;
    const T** rows;
    EntriesOfFilters<T> entries;
  };
  Buffers buffers_of[max_parts];
  Turns turns{0, 1};  // over filters, registers of filters, or blocks of panels

  Filter(const ConvolutionArguments<T>& arguments, Index workers, Workspace& workspace)
      : g(arguments), padding(arguments) {
    channels = g.channels / g.groups;
    filters = g.filters / g.groups;
    cells = g.kernel_height * g.kernel_width * channels;
    pixels = g.rows * g.columns;
    sparse = g.gradient == GradientMethod::sparse;
    shallow = g.gradient == GradientMethod::in_registers;
    panel_count = quotient_up(filters, tile_width<T>) * g.groups;
    parts = parts_of(sparse    ? g.filters
                     : shallow ? g.filters / lanes<T>
                               : panel_count * quotient_up(cells, tile_rows),
                     std::int64_t{g.batch} * pixels * cells * g.filters, workers);
    blocks = parts == 1 ? 1 : smaller(quotient_up(4 * parts, panel_count), quotient_up(cells, tile_rows));
    turns = sparse ? Turns(g.filters, parts, 8) : Turns(shallow ? g.filters / lanes<T> : panel_count * blocks, parts);
    offsets = workspace.allocate<Index>(pixels);
    cell_offsets = workspace.allocate<Index>(cells);
    transposed = workspace.allocate<T>(sparse ? cells * g.filters : 0);
    for (Index part = 0; part < parts; ++part) {
      Buffers& mine = buffers_of[part];
      mine.image = workspace.allocate<T>(padding.elements());
      if (sparse) {
        mine.entries = EntriesOfFilters<T>(g, workspace);
        continue;
      }
      mine.panel = workspace.allocate<T>(pixels * tile_width<T>);
      mine.rows = workspace.allocate<const T*>(cells);
    }
  }

  void prepare() {
    for (Index i = 0; i < g.rows; ++i)
      for (Index j = 0; j < g.columns; ++j)
        offsets[i * g.columns + j] =
            (i * g.stride_y * padding.width + j * g.stride_x) * g.channels * static_cast<Index>(sizeof(T));
    Index* next = cell_offsets;
    for (Index u = 0; u < g.kernel_height; ++u)
      for (Index v = 0; v < g.kernel_width; ++v)
        for (Index c = 0; c < channels; ++c)
          *next++ = (u * g.dilation_y * padding.width + v * g.dilation_x) * g.channels + c;
  }

  const T* image_of(Index image, const Buffers& mine) const {
    const T* x = g.x + image * g.height * g.width * g.channels;
    if (!padding.needed) return x;
    padding.copy(x, mine.image);
    return mine.image;
  }

  static void run(void* context, int part) {
    Filter& job = *static_cast<Filter*>(context);
    const Buffers& mine = job.buffers_of[part];
    for (Index begin, end; job.turns.next(begin, end);) {
      if (job.sparse)
        job.add_sparse(begin, end, mine);
      else if (job.shallow)
        job.add_shallow_rows(begin, end, mine);
      else
        job.add_blocks(begin, end, mine);
    }
  }

  void add_blocks(Index begin, Index end, const Buffers& mine) const {
    for (Index image = 0; image < g.batch; ++image) {
      const T* x = image_of(image, mine);
      Index packed = -1;
      for (Index unit = begin; unit < end; ++unit) {
        const Index panel = unit / blocks, block = unit % blocks;
        if (packed != panel) pack(image, panel, mine);
        packed = panel;
        add_dense(x, image, panel, block, mine);
      }
    }
  }

  /// A panel of dy: [pixels][tile_width].
  void pack(Index image, Index panel, const Buffers& mine) const {
    const Index each = quotient_up(filters, tile_width<T>);
    const Index first = panel % each * tile_width<T>, wide = smaller(filters - first, tile_width<T>);
    const Index begin = panel / each * filters + first;
    if (!g.pooled)
      return pack_b(Operand<T>{g.dy + image * pixels * g.filters + begin, g.filters, 1}, pixels, wide, mine.panel);
    unpool(g, image, begin, begin + wide, mine.panel, tile_width<T>);
    if (wide < tile_width<T>)
      for (Index n = 0; n < pixels; ++n)
        for (Index c = wide; c < tile_width<T>; ++c) mine.panel[n * tile_width<T> + c] = T(0);
  }

  void add_dense(const T* x, Index image, Index panel, Index block, const Buffers& mine) const {
    const Index each = quotient_up(filters, tile_width<T>), group = panel / each;
    const Index first = panel % each * tile_width<T>, wide = smaller(filters - first, tile_width<T>);
    const Index units = quotient_up(cells, tile_rows);
    const Index begin = smaller(units * block / blocks * tile_rows, cells),
                end = smaller(units * (block + 1) / blocks * tile_rows, cells);
    for (Index cell = begin; cell < end; ++cell) mine.rows[cell - begin] = x + cell_offsets[cell] + group * channels;
    gather_multiply(mine.rows, end - begin, offsets, pixels, mine.panel, 0, wide,
                    g.out + begin * g.filters + group * filters + first, g.filters, image > 0);
  }

  void add_shallow_rows(Index begin, Index end, const Buffers& mine) const {
    const Index line = padding.width * g.channels;
    for (Index image = 0; image < g.batch; ++image) {
      const T* x = image_of(image, mine);
      for (Index unit = begin; unit < end; ++unit) {
        const Index f = unit * lanes<T>, at = image * g.pooled_rows * g.pooled_columns * g.filters + f;
        const ShallowArguments<T> t{x,
                                    cell_offsets,
                                    g.pooled_rows,
                                    g.pooled_columns,
                                    g.pool_height,
                                    g.pool_width,
                                    g.pool_stride_y * g.stride_y * line,
                                    g.pool_stride_x * g.stride_x * g.channels,
                                    g.stride_y * line,
                                    g.stride_x * g.channels,
                                    g.dy + at,
                                    g.index + at,
                                    g.filters,
                                    g.out + f,
                                    g.filters,
                                    image > 0};
        shallow_kernels<T>[cells](t);
      }
    }
  }

  void add_sparse(Index begin, Index end, const Buffers& mine) const {
    constexpr Index most = sparse_vectors * lanes<T>;
    const Index piece = g.kernel_width * channels, line = padding.width * channels;
    const EntriesOfFilters<T>& entries = mine.entries;
    zero_elements(transposed + begin * cells, (end - begin) * cells);
    for (Index image = 0; image < g.batch; ++image) {
      const T* x = image_of(image, mine);
      const Index from = image * g.pooled_rows * g.pooled_columns * g.filters;
      entries.collect(g, g.dy + from, g.index + from, begin, end, g.stride_y * line, g.stride_x * channels);
      for (Index u = 0; u < g.kernel_height; ++u)
        for (Index c = 0; c < piece; c += most) {
          const auto add = add_weighted_pieces_of<T>[smaller(piece - c, most) / lanes<T>];
          for (Index f = begin; f < end; ++f)
            add(entries.offset + f * entries.most, entries.value + f * entries.most, entries.count[f],
                x + u * g.dilation_y * line + c, transposed + f * cells + u * piece + c);
        }
    }
  }
};

/// By GradientMethod.
template <class T>
constexpr MethodKernel<T> methods[] = {
    {}, {}, {}, {convolve_depthwise_filter<T>, convolve_depthwise_filter_workspace<T>}};
template <class T> const MethodKernel<T>& method_of(const ConvolutionArguments<T>& arguments) {
  return methods<T>[static_cast<int>(arguments.gradient)];
}

}  // namespace

template <class T> void convolve_filter(const ConvolutionArguments<T>& arguments, const Workers& workers) {
  if (const auto run = method_of(arguments).run) return run(arguments, workers);
  Workspace workspace(arguments.workspace);
  Filter<T> job(arguments, workers.count, workspace);
  job.prepare();
  if (arguments.batch == 0) zero_elements(arguments.out, job.cells * arguments.filters);
  fan_out(workers, job.parts, Filter<T>::run, &job);
  if (job.sparse)
    transpose_matrix(job.transposed, job.cells, arguments.out, arguments.filters, arguments.filters, job.cells);
  if (arguments.rows_done) arguments.rows_done(arguments.context, 0, job.cells);
}

template <class T> std::int64_t convolve_filter_workspace(const ConvolutionArguments<T>& arguments, int workers) {
  if (const auto workspace_of = method_of(arguments).workspace) return workspace_of(arguments, workers);
  Workspace workspace(nullptr);
  const Filter<T> job(arguments, workers, workspace);
  return workspace.used();
}

template void convolve_filter(const ConvolutionArguments<float>&, const Workers&);
template std::int64_t convolve_filter_workspace(const ConvolutionArguments<float>&, int);
#ifdef ETUDE_FLOAT64
template void convolve_filter(const ConvolutionArguments<double>&, const Workers&);
template std::int64_t convolve_filter_workspace(const ConvolutionArguments<double>&, int);
#endif

}  // namespace etude::cpu::ETUDE_ISA
