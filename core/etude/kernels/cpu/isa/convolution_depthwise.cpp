#include "etude/kernels/cpu/isa/convolution_depthwise.hpp"

#include "etude/kernels/cpu/isa/spaced_image.hpp"
#include "etude/kernels/cpu/isa/workspace.hpp"

// Convolutions with one input and one output channel per group. Channels are neighbors in memory, so a register holds
// the sums of several channels, and no operand is rearranged. The gradient with respect to x is such a convolution,
// too: of dy, with zeros between its pixels where strides skipped pixels of x, and with the kernel rotated by 180
// degrees.

namespace etude::cpu::ETUDE_ISA {
namespace {

/// The bytes of the result that are computed before they are passed to the epilogue.
constexpr Index band_bytes = 16384;
/// Pixels, and registers of channels, that are summed at a time.
constexpr int tile_pixels = 4, tile_registers = 2;

/// A window, and the distances of its taps in a SpacedImage.
struct Window {
  Index height, width, row, column;  // taps; elements from tap to tap
};

/// out[pixel][channel] = the sum over the window's taps of x · kernel, for `Pixels` neighboring pixels.
template <class T> struct Sums {
  Window window;
  const T* x;
  Index x_step;  // elements from pixel to pixel
  const T* kernel;
  T* out;
  Index channels;
};

template <class T, int Pixels, int Registers>
[[gnu::always_inline]] inline void sum_registers(const Sums<T>& s, Index c) {
  Vec<T> sum[Pixels][Registers];
  unroll<Pixels>([&](auto p) { unroll<Registers>([&](auto r) { sum[p][r] = broadcast(T(0)); }); });
  const T* kernel = s.kernel + c;
  for (Index u = 0; u < s.window.height; ++u) {
    const T* x = s.x + u * s.window.row + c;
    for (Index v = 0; v < s.window.width; ++v, x += s.window.column, kernel += s.channels) {
      Vec<T> factor[Registers];
      unroll<Registers>([&](auto r) { factor[r] = load(kernel + r * lanes<T>); });
      unroll<Pixels>([&](auto p) {
        unroll<Registers>(
            [&](auto r) { sum[p][r] = madd(load(x + p * s.x_step + r * lanes<T>), factor[r], sum[p][r]); });
      });
    }
  }
  unroll<Pixels>(
      [&](auto p) { unroll<Registers>([&](auto r) { store(s.out + p * s.channels + c + r * lanes<T>, sum[p][r]); }); });
}

/// The same for the last channels, fewer than a register has.
template <class T, int Pixels>
[[gnu::always_inline]] inline void sum_last_channels(const Sums<T>& s, Index c, Index count) {
  Vec<T> sum[Pixels];
  unroll<Pixels>([&](auto p) { sum[p] = broadcast(T(0)); });
  const T* kernel = s.kernel + c;
  for (Index u = 0; u < s.window.height; ++u) {
    const T* x = s.x + u * s.window.row + c;
    for (Index v = 0; v < s.window.width; ++v, x += s.window.column, kernel += s.channels) {
      const Vec<T> factor = load_first(kernel, count);
      unroll<Pixels>([&](auto p) { sum[p] = madd(load_first(x + p * s.x_step, count), factor, sum[p]); });
    }
  }
  unroll<Pixels>([&](auto p) { store_first(s.out + p * s.channels + c, sum[p], count); });
}

template <class T, int Pixels> [[gnu::noinline]] void sum_pixels(const Sums<T>& s) {
  constexpr Index wide = tile_registers * lanes<T>;
  Index c = 0;
  for (; c + wide <= s.channels; c += wide) sum_registers<T, Pixels, tile_registers>(s, c);
  for (; c + lanes<T> <= s.channels; c += lanes<T>) sum_registers<T, Pixels, 1>(s, c);
  if (c < s.channels) sum_last_channels<T, Pixels>(s, c, s.channels - c);
}

/// A depthwise convolution, or its gradient with respect to x.
template <class T> struct ByChannel {
  SpacedImage<T> source;
  Window window;
  const T *from, *kernel;
  T* out;
  Index batch, rows, columns, channels, stride_y, stride_x;  // of the result
  Index band, bands, parts;
  void (*rows_done)(void* context, std::int64_t begin, std::int64_t end);
  void* context;
  T* rotated = nullptr;  // the kernel of a gradient
  T* images[max_parts];
  Turns turns{0, 1};  // over bands of images

  ByChannel(const ConvolutionArguments<T>& g, bool gradient, Index workers, Workspace& workspace)
      : from(gradient ? g.dy : g.x),
        kernel(g.kernel),
        out(g.out),
        batch(g.batch),
        rows(gradient ? g.height : g.rows),
        columns(gradient ? g.width : g.columns),
        channels(g.channels),
        stride_y(gradient ? 1 : g.stride_y),
        stride_x(gradient ? 1 : g.stride_x),
        rows_done(g.rows_done),
        context(g.context) {
    const Index reach_y = (g.kernel_height - 1) * g.dilation_y, reach_x = (g.kernel_width - 1) * g.dilation_x;
    source = {(rows - 1) * stride_y + reach_y + 1,
              (columns - 1) * stride_x + reach_x + 1,
              channels,
              gradient ? g.rows : g.height,
              gradient ? g.columns : g.width,
              channels,
              gradient ? reach_y - g.before_y : g.before_y,
              gradient ? reach_x - g.before_x : g.before_x,
              gradient ? g.stride_y : 1,
              gradient ? g.stride_x : 1,
              true};
    if (source.before_y == 0 && source.before_x == 0 && source.spacing_y == 1 && source.spacing_x == 1 &&
        source.height <= source.from_height && source.width <= source.from_width) {
      source.needed = false;
      source.width = source.from_width;
    }
    window = {g.kernel_height, g.kernel_width, g.dilation_y * source.width * channels, g.dilation_x * channels};
    band =
        smaller(larger(band_bytes / larger(columns * channels * static_cast<Index>(sizeof(T)), 1), 1), larger(rows, 1));
    bands = quotient_up(rows, band);
    parts = parts_of(batch * bands, std::int64_t{batch} * rows * columns * g.kernel_height * g.kernel_width * channels,
                     workers);
    turns = Turns(batch * bands, parts);
    if (gradient) kernel = rotated = workspace.allocate<T>(window.height * window.width * channels);
    for (Index part = 0; part < parts; ++part) images[part] = workspace.allocate<T>(source.elements());
  }

  /// Sets the kernel to that of the arguments, rotated by 180 degrees.
  void rotate_kernel(const T* given) {
    const Index taps = window.height * window.width;
    for (Index tap = 0; tap < taps; ++tap)
      copy_elements(given + (taps - 1 - tap) * channels, channels, rotated + tap * channels);
  }

  static void run(void* context, int part) {
    ByChannel& job = *static_cast<ByChannel*>(context);
    Index copied = -1;
    for (Index unit, end; job.turns.next(unit, end);)
      for (; unit < end; ++unit) {
        const Index image = unit / job.bands;
        const T* x = job.from + image * job.source.from_height * job.source.from_width * job.channels;
        if (job.source.needed) {
          if (copied != image) job.source.copy(x, job.images[part]);
          copied = image;
          x = job.images[part];
        }
        job.compute_band(x, image, unit % job.bands * job.band);
      }
  }

  void compute_band(const T* x, Index image, Index first) const {
    const Index last = smaller(first + band, rows), step = stride_x * channels;
    for (Index i = first; i < last; ++i) {
      Sums<T> sums{window, x + i * stride_y * source.width * channels,    step,
                   kernel, out + (image * rows + i) * columns * channels, channels};
      Index j = 0;
      for (; j + tile_pixels <= columns; j += tile_pixels) {
        sum_pixels<T, tile_pixels>(sums);
        sums.x += tile_pixels * step;
        sums.out += tile_pixels * channels;
      }
      for (; j < columns; ++j, sums.x += step, sums.out += channels) sum_pixels<T, 1>(sums);
    }
    const Index row = image * rows;
    if (rows_done) rows_done(context, (row + first) * columns, (row + last) * columns);
  }
};

}  // namespace

template <class T> void convolve_depthwise(const ConvolutionArguments<T>& arguments, const Workers& workers) {
  Workspace workspace(arguments.workspace);
  ByChannel<T> job(arguments, false, workers.count, workspace);
  fan_out(workers, job.parts, ByChannel<T>::run, &job);
}

template <class T> void convolve_depthwise_input(const ConvolutionArguments<T>& arguments, const Workers& workers) {
  Workspace workspace(arguments.workspace);
  ByChannel<T> job(arguments, true, workers.count, workspace);
  job.rotate_kernel(arguments.kernel);
  fan_out(workers, job.parts, ByChannel<T>::run, &job);
}

template <class T> std::int64_t convolve_depthwise_workspace(const ConvolutionArguments<T>& arguments, int workers) {
  Workspace workspace(nullptr);
  const ByChannel<T> job(arguments, false, workers, workspace);
  return workspace.used();
}

template <class T>
std::int64_t convolve_depthwise_input_workspace(const ConvolutionArguments<T>& arguments, int workers) {
  Workspace workspace(nullptr);
  const ByChannel<T> job(arguments, true, workers, workspace);
  return workspace.used();
}

template void convolve_depthwise(const ConvolutionArguments<float>&, const Workers&);
template void convolve_depthwise_input(const ConvolutionArguments<float>&, const Workers&);
template std::int64_t convolve_depthwise_workspace(const ConvolutionArguments<float>&, int);
template std::int64_t convolve_depthwise_input_workspace(const ConvolutionArguments<float>&, int);
#ifdef ETUDE_FLOAT64
template void convolve_depthwise(const ConvolutionArguments<double>&, const Workers&);
template void convolve_depthwise_input(const ConvolutionArguments<double>&, const Workers&);
template std::int64_t convolve_depthwise_workspace(const ConvolutionArguments<double>&, int);
template std::int64_t convolve_depthwise_input_workspace(const ConvolutionArguments<double>&, int);
#endif

}  // namespace etude::cpu::ETUDE_ISA
