#include "etude/kernels/cpu/isa/convolution_depthwise.hpp"
#include "etude/kernels/cpu/isa/spaced_image.hpp"
#include "etude/kernels/cpu/isa/workspace.hpp"

namespace etude::cpu::ETUDE_ISA {
namespace {

/// Registers of channels that are summed at a time.
constexpr int tile_registers = 2;

/// sums [Taps][Registers] += the sum over pixels of a row of x · dy: x for each tap, dy the same for all.
template <class T, int Taps, int Registers>
[[gnu::noinline]] void add_row(const T* x, Index x_step, Index tap, const T* dy, Index count, T* sums) {
  constexpr Index wide = Registers * lanes<T>;
  Vec<T> sum[Taps][Registers];
  unroll<Taps>([&](auto t) { unroll<Registers>([&](auto r) { sum[t][r] = load(sums + t * wide + r * lanes<T>); }); });
  for (Index j = 0; j < count; ++j, x += x_step, dy += wide) {
    Vec<T> factor[Registers];
    unroll<Registers>([&](auto r) { factor[r] = load(dy + r * lanes<T>); });
    unroll<Taps>([&](auto t) {
      unroll<Registers>([&](auto r) { sum[t][r] = madd(load(x + t * tap + r * lanes<T>), factor[r], sum[t][r]); });
    });
  }
  unroll<Taps>([&](auto t) { unroll<Registers>([&](auto r) { store(sums + t * wide + r * lanes<T>, sum[t][r]); }); });
}

/// The gradient with respect to the kernel. Parts divide the channels, so that each element is one sum in one order.
template <class T> struct ChannelFilter {
  static constexpr Index wide = tile_registers * lanes<T>;
  static constexpr int most_taps = 4;
  static constexpr auto add_rows = table<most_taps>([]<int Taps> { return &add_row<T, Taps, tile_registers>; });

  const ConvolutionArguments<T>& g;
  Index blocks, parts, taps;
  SpacedImage<T> source, gradient;  // the channels of a block, padded to whole registers
  struct Buffers {
    T *image, *dy, *sums;
  };
  Buffers buffers_of[max_parts];
  Turns turns{0, 1};  // over blocks of channels

  ChannelFilter(const ConvolutionArguments<T>& arguments, Index workers, Workspace& workspace) : g(arguments) {
    blocks = quotient_up(g.channels, wide);
    taps = g.kernel_height * g.kernel_width;
    parts = parts_of(blocks, std::int64_t{g.batch} * g.rows * g.columns * taps * g.channels, workers);
    turns = Turns(blocks, parts);
    source = {(g.rows - 1) * g.stride_y + (g.kernel_height - 1) * g.dilation_y + 1,
              (g.columns - 1) * g.stride_x + (g.kernel_width - 1) * g.dilation_x + 1,
              wide,
              g.height,
              g.width,
              g.channels,
              g.before_y,
              g.before_x,
              1,
              1,
              true};
    gradient = {g.rows, g.columns, wide, g.rows, g.columns, g.channels, 0, 0, 1, 1, true};
    for (Index part = 0; part < parts; ++part)
      buffers_of[part] = {workspace.allocate<T>(source.elements()), workspace.allocate<T>(gradient.elements()),
                          workspace.allocate<T>(taps * wide)};
  }

  static void run(void* context, int part) {
    ChannelFilter& job = *static_cast<ChannelFilter*>(context);
    for (Index block, end; job.turns.next(block, end);)
      for (; block < end; ++block) job.compute_block(block * wide, job.buffers_of[part]);
  }

  void compute_block(Index first, const Buffers& mine) const {
    const Index live = smaller(wide, g.channels - first);
    zero_elements(mine.sums, taps * wide);
    if (live < wide) zero_elements(mine.image, source.elements()), zero_elements(mine.dy, gradient.elements());
    for (Index image = 0; image < g.batch; ++image) {
      pack(source, g.x + image * g.height * g.width * g.channels + first, live, mine.image);
      pack(gradient, g.dy + image * g.rows * g.columns * g.channels + first, live, mine.dy);
      for (Index i = 0; i < g.rows; ++i)
        for (Index u = 0; u < g.kernel_height; ++u) add_taps(i, u, mine);
    }
    for (Index tap = 0; tap < taps; ++tap)
      copy_elements(mine.sums + tap * wide, live, g.out + tap * g.channels + first);
  }

  static void pack(SpacedImage<T> image, const T* from, Index live, T* to) {
    if (live == wide) return image.copy(from, to);
    // A copy of fewer channels keeps the zeros of the others.
    for (Index y = 0; y < image.from_height; ++y)
      for (Index x = 0; x < image.from_width; ++x) {
        const Index row = y + image.before_y, column = x + image.before_x;
        if (row < image.height && column < image.width)
          copy_elements(from + (y * image.from_width + x) * image.from_channels, live,
                        to + (row * image.width + column) * wide);
      }
  }

  void add_taps(Index i, Index u, const Buffers& mine) const {
    const T* x = mine.image + (i * g.stride_y + u * g.dilation_y) * source.width * wide;
    for (Index v = 0; v < g.kernel_width; v += most_taps) {
      const Index count = smaller(g.kernel_width - v, most_taps);
      add_rows[count](x + v * g.dilation_x * wide, g.stride_x * wide, g.dilation_x * wide,
                      mine.dy + i * g.columns * wide, g.columns, mine.sums + (u * g.kernel_width + v) * wide);
    }
  }
};

}  // namespace

template <class T> void convolve_depthwise_filter(const ConvolutionArguments<T>& arguments, const Workers& workers) {
  Workspace workspace(arguments.workspace);
  ChannelFilter<T> job(arguments, workers.count, workspace);
  fan_out(workers, job.parts, ChannelFilter<T>::run, &job);
  if (arguments.rows_done) arguments.rows_done(arguments.context, 0, job.taps);
}

template <class T>
std::int64_t convolve_depthwise_filter_workspace(const ConvolutionArguments<T>& arguments, int workers) {
  Workspace workspace(nullptr);
  const ChannelFilter<T> job(arguments, workers, workspace);
  return workspace.used();
}

template void convolve_depthwise_filter(const ConvolutionArguments<float>&, const Workers&);
template std::int64_t convolve_depthwise_filter_workspace(const ConvolutionArguments<float>&, int);
#ifdef ETUDE_FLOAT64
template void convolve_depthwise_filter(const ConvolutionArguments<double>&, const Workers&);
template std::int64_t convolve_depthwise_filter_workspace(const ConvolutionArguments<double>&, int);
#endif

}  // namespace etude::cpu::ETUDE_ISA
