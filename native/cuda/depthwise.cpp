#include "cuda/depthwise.hpp"

#include <algorithm>

#include "cuda/patches.hpp"
#include "cuda/product.hpp"

namespace etude::cuda {

using instruction::ConvolutionShape;

namespace {

/// Stores four sums, or fewer at the end of a row.
template <bool in_fours, class T> ETUDE_DEVICE void store(const Computed<T> (&sums)[4], T* to, int room) {
  if constexpr (in_fours) {
    *reinterpret_cast<Four<T>*>(to) = {
        {static_cast<T>(sums[0]), static_cast<T>(sums[1]), static_cast<T>(sums[2]), static_cast<T>(sums[3])}};
  } else {
    for (int j = 0; j < 4; ++j)
      if (j < room) to[j] = static_cast<T>(sums[j]);
  }
}

/// A thread for each place of the window and four filters. `in_fours`: with one filter per channel, it reads four
/// filters at once.
template <class T, bool in_fours>
struct DepthwiseKernel {
  static constexpr const char* name = "depthwise";
  ConvolutionSizes s;
  Divisor fours;  ///< of filters
  const T *x, *kernel;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    std::int64_t number = i;
    const int first = static_cast<int>(fours.divide(number)) * 4;
    const ImagePlace place(number, s.by_places, s.by_columns);
    const int top = place.row * s.stride_y - s.before_y, left = place.column * s.stride_x - s.before_x;
    int channel[4];
    for (int j = 0; j < 4; ++j) channel[j] = s.by_group_filters.quotient(first + j);
    Computed<T> sums[4] = {};
    for (int u = 0; u < s.kernel_height; ++u) {
      const int y = top + u * s.dilation_y;
      if (y < 0 || y >= s.height) continue;
      for (int v = 0; v < s.kernel_width; ++v) {
        const int across = left + v * s.dilation_x;
        if (across < 0 || across >= s.width) continue;
        const T* from = x + ((place.image * s.height + y) * s.width + across) * s.channels;
        const T* tap = kernel + static_cast<std::int64_t>(u * s.kernel_width + v) * s.filters + first;
        if constexpr (in_fours) {
          const Four<T> a = *reinterpret_cast<const Four<T>*>(from + first), b = *reinterpret_cast<const Four<T>*>(tap);
          for (int j = 0; j < 4; ++j) sums[j] += static_cast<Computed<T>>(a.of[j]) * static_cast<Computed<T>>(b.of[j]);
        } else {
          for (int j = 0; j < 4; ++j)
            if (first + j < s.filters)
              sums[j] += static_cast<Computed<T>>(from[channel[j]]) * static_cast<Computed<T>>(tap[j]);
        }
      }
    }
    store<in_fours>(sums, out + number * s.filters + first, s.filters - first);
  }
};

/// A thread for each cell of x and four channels, which visits the windows that contain the cell.
template <class T, bool in_fours>
struct DepthwiseInputKernel {
  static constexpr const char* name = "depthwise input";
  ConvolutionSizes s;
  Divisor fours;  ///< of channels
  const T *dy, *kernel;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    std::int64_t number = i;
    const int first = static_cast<int>(fours.divide(number)) * 4, filters = s.group_filters;
    const ImagePlace cell(number, s.by_cells, s.by_width);
    Computed<T> sums[4] = {};
    for (int u = 0; u < s.kernel_height; ++u)
      for (int v = 0; v < s.kernel_width; ++v) {
        const SeeingWindow window(s, cell.row, cell.column, u, v);
        if (!window.exists) continue;
        const T* from = dy + ((cell.image * s.rows + window.row) * s.columns + window.column) * s.filters;
        const T* tap = kernel + static_cast<std::int64_t>(u * s.kernel_width + v) * s.filters;
        if constexpr (in_fours) {
          const Four<T> a = *reinterpret_cast<const Four<T>*>(from + first),
                        b = *reinterpret_cast<const Four<T>*>(tap + first);
          for (int j = 0; j < 4; ++j) sums[j] += static_cast<Computed<T>>(a.of[j]) * static_cast<Computed<T>>(b.of[j]);
        } else {
          for (int j = 0; j < 4; ++j) {
            if (first + j >= s.channels) break;
            for (int f = (first + j) * filters; f < (first + j + 1) * filters; ++f)
              sums[j] += static_cast<Computed<T>>(from[f]) * static_cast<Computed<T>>(tap[f]);
          }
        }
      }
    store<in_fours>(sums, out + number * s.channels + first, s.channels - first);
  }
};

constexpr unsigned threads_of_filters = 256;
constexpr int places_at_once = 4;

/// The division of the filter's gradient into blocks. It depends only on the shape.
struct FilterCut {
  int filters = 1;  ///< of a block, a power of two
  std::int64_t taps, filter_groups, places, chunk_places, chunks;

  explicit FilterCut(const ConvolutionShape& s) : taps(s.window.cells()), places(s.batch * s.rows * s.columns) {
    constexpr std::int64_t enough_blocks = 1024, least_rounds = 4;
    while (filters < s.filters && filters < static_cast<int>(warp)) filters *= 2;
    filter_groups = blocks_for(s.filters, filters);
    const std::int64_t lanes = static_cast<int>(threads_of_filters) / filters,
                       wanted = blocks_for(enough_blocks, std::max<std::int64_t>(taps * filter_groups, 1)),
                       most = std::max<std::int64_t>(blocks_for(places, least_rounds * places_at_once * lanes), 1);
    chunk_places = std::max<std::int64_t>(blocks_for(places, std::min(wanted, most)), 1);
    chunks = std::max<std::int64_t>(blocks_for(places, chunk_places), 1);
  }
};

/// A block for each chunk of places, each tap, and some filters. Its threads divide the places. Blocks of one chunk are
/// neighbours: they read the same elements of x and dy.
template <class T>
struct DepthwiseFilterKernel {
  static constexpr const char* name = "depthwise filter";
  static constexpr unsigned threads = threads_of_filters;
  using Meets = void;
  struct Shared {
    Computed<T> parts[threads];
  };
  ConvolutionSizes s;
  Divisor taps, filter_groups;
  std::int64_t places, chunk_places;
  int filters;
  const T *x, *dy;
  Computed<T>* parts;  ///< [chunks, taps, filters]

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int t = static_cast<int>(thread.index()), lane = t / filters, lanes = static_cast<int>(threads) / filters;
    std::int64_t chunk = thread.block();
    const int tap = static_cast<int>(taps.divide(chunk));
    const int filter = static_cast<int>(filter_groups.divide(chunk)) * filters + t % filters;
    int u = tap;
    const int v = s.by_kernel_width.divide(u);
    const std::int64_t first = chunk * chunk_places,
                       last = places - first < chunk_places ? places : first + chunk_places;
    Computed<T> sum = 0;
    if (filter < s.filters) {
      const T* of_channel = x + s.by_group_filters.quotient(filter);
      for (std::int64_t number = first + lane; number < last; number += places_at_once * lanes) {
        Computed<T> a[places_at_once], b[places_at_once];
        for (int k = 0; k < places_at_once; ++k) {
          a[k] = b[k] = 0;
          const std::int64_t here = number + k * lanes;
          if (here >= last) continue;
          const ImagePlace place(here, s.by_places, s.by_columns);
          const int y = place.row * s.stride_y - s.before_y + u * s.dilation_y,
                    across = place.column * s.stride_x - s.before_x + v * s.dilation_x;
          if (y < 0 || y >= s.height || across < 0 || across >= s.width) continue;
          a[k] = static_cast<Computed<T>>(of_channel[((place.image * s.height + y) * s.width + across) * s.channels]);
          b[k] = static_cast<Computed<T>>(dy[here * s.filters + filter]);
        }
        for (int k = 0; k < places_at_once; ++k) sum += a[k] * b[k];
      }
    }
    shared.parts[t] = sum;
    for (int half = lanes / 2; half > 0; half /= 2) {
      thread.sync();
      if (lane < half) shared.parts[t] += shared.parts[t + half * filters];
    }
    if (lane == 0 && filter < s.filters) parts[(chunk * taps.by + tap) * s.filters + filter] = shared.parts[t];
  }
};

template <class T> const T* as(const std::byte* data) { return reinterpret_cast<const T*>(data); }
template <class T> T* as(std::byte* data) { return reinterpret_cast<T*>(data); }

/// Whether threads read and write four channels, which are four filters, at once.
template <class T> bool goes_in_fours(const ConvolutionShape& s, const T* a, const T* b, const T* out) {
  return s.filters == s.channels && s.channels % 4 == 0 && lies_for_fours(a) && lies_for_fours(b) &&
         lies_for_fours(out);
}

}  // namespace

bool is_depthwise(const ConvolutionShape& s) { return s.groups > 1 && s.groups == s.channels; }

std::size_t depthwise_filter_bytes(const ConvolutionShape& s, DType dtype) {
  const FilterCut cut(s);
  return static_cast<std::size_t>(cut.chunks * cut.taps * s.filters) *
         (is_half(dtype) ? sizeof(float) : size_of(dtype));
}

void depthwise(Runtime& runtime, const ConvolutionShape& s, DType dtype, const std::byte* x, const std::byte* kernel,
               std::byte* out) {
  with_stored(dtype, [&]<class T>(T) {
    const std::int64_t fours = blocks_for(s.filters, 4), threads = s.batch * s.rows * s.columns * fours;
    const ConvolutionSizes sizes(s);
    if (goes_in_fours<T>(s, as<T>(x), as<T>(kernel), as<T>(out)))
      launch_each(runtime, threads, DepthwiseKernel<T, true>{sizes, fours, as<T>(x), as<T>(kernel), as<T>(out)});
    else
      launch_each(runtime, threads, DepthwiseKernel<T, false>{sizes, fours, as<T>(x), as<T>(kernel), as<T>(out)});
  });
}

void depthwise_input(Runtime& runtime, const ConvolutionShape& s, DType dtype, const std::byte* dy,
                     const std::byte* kernel, std::byte* out) {
  with_stored(dtype, [&]<class T>(T) {
    const std::int64_t fours = blocks_for(s.channels, 4), threads = s.batch * s.height * s.width * fours;
    const ConvolutionSizes sizes(s);
    if (goes_in_fours<T>(s, as<T>(dy), as<T>(kernel), as<T>(out)))
      launch_each(runtime, threads, DepthwiseInputKernel<T, true>{sizes, fours, as<T>(dy), as<T>(kernel), as<T>(out)});
    else
      launch_each(runtime, threads, DepthwiseInputKernel<T, false>{sizes, fours, as<T>(dy), as<T>(kernel), as<T>(out)});
  });
}

void depthwise_filter(Runtime& runtime, const ConvolutionShape& s, DType dtype, const std::byte* x, const std::byte* dy,
                      std::byte* out, std::byte* workspace) {
  with_stored(dtype, [&]<class T>(T) {
    const FilterCut cut(s);
    auto* parts = as<Computed<T>>(workspace);
    launch(runtime, cut.chunks * cut.taps * cut.filter_groups,
           DepthwiseFilterKernel<T>{ConvolutionSizes(s), cut.taps, cut.filter_groups, cut.places, cut.chunk_places,
                                    cut.filters, as<T>(x), as<T>(dy), parts});
    const std::int64_t elements = cut.taps * s.filters;
    launch_each(runtime, elements,
                AddSplits<T>{cut.taps, s.filters, elements, cut.chunks, parts, as<T>(out), s.filters, {}});
  });
}

}  // namespace etude::cuda
