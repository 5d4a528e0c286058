#include <algorithm>
#include <limits>
#include <type_traits>

#include "cuda/cuda.hpp"
#include "cuda/divisor.hpp"
#include "cuda/launch.hpp"

// Reductions. A block of threads reduces some neighbouring columns; each thread processes a part of the rows. If there
// are few blocks, rows are divided into chunks, whose results are reduced again. The order of additions depends only on
// the shape.

namespace etude {

using cuda::at;
using cuda::blocks_for;
using cuda::Divisor;
using cuda::launch;
using cuda::launch_each;
using cuda::Thread;
using instruction::ArgSort;
using instruction::Cumsum;
using instruction::Reduce;

namespace {

constexpr unsigned threads_of_block = 256;
constexpr int rows_at_once = 4;

/// The division of a reduction.
struct Cut {
  int columns = 1;             ///< of a block, a power of two
  std::int64_t column_groups;  ///< ceil(inner / columns)
  std::int64_t chunk_rows, chunks;

  Cut(std::int64_t outer, std::int64_t count, std::int64_t inner) {
    // Few columns per block, but at least 32 bytes, give more blocks. A second kernel takes longer than some rows per
    // thread.
    constexpr std::int64_t enough_blocks = 512, rows_of_thread = 64;
    constexpr int least_columns = 8;
    while (columns < inner && columns < static_cast<int>(cuda::warp)) columns *= 2;
    while (columns > least_columns && outer * blocks_for(inner, columns) < enough_blocks) columns /= 2;
    column_groups = blocks_for(inner, columns);
    const std::int64_t lanes = static_cast<int>(threads_of_block) / columns;
    chunk_rows = std::max<std::int64_t>(count, 1);
    if (count > rows_of_thread * lanes) {
      const std::int64_t wanted = blocks_for(enough_blocks, std::max<std::int64_t>(outer * column_groups, 1));
      chunk_rows = blocks_for(count, std::min(wanted, blocks_for(count, rows_at_once * lanes)));
    }
    chunks = std::max<std::int64_t>(blocks_for(count, chunk_rows), 1);
  }
};

template <class T> struct Largest {
  ETUDE_DEVICE static T none() {
    if constexpr (std::is_floating_point_v<T>)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::lowest();
  }
  ETUDE_DEVICE static T combine(T a, T b) { return a > b || a != a ? a : b; }
};
template <class T> struct Total {
  ETUDE_DEVICE static T none() { return T(0); }
  ETUDE_DEVICE static T combine(T a, T b) { return a + b; }
};

/// in [outer, count, inner] -> out [outer, chunks, inner].
template <class T, class Combine>
struct ReduceKernel {
  static constexpr const char* name = "reduce";
  static constexpr unsigned threads = threads_of_block;
  using Meets = void;
  struct Shared {
    T parts[threads];
  };
  std::int64_t count, inner, chunk_rows;
  Divisor column_groups, chunks;
  int columns;
  const T* in;
  T* out;

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int t = static_cast<int>(thread.index()), lane = t / columns, lanes = static_cast<int>(threads) / columns;
    std::int64_t unit = thread.block();
    const std::int64_t column = column_groups.divide(unit) * columns + t % columns;
    std::int64_t entry = unit;
    const std::int64_t first = chunks.divide(entry) * chunk_rows, rest = count - first;
    const std::int64_t rows = rest > chunk_rows ? chunk_rows : rest;
    T value = Combine::none();
    if (column < inner) {
      const T* from = in + (entry * count + first) * inner + column;
      const std::int64_t step = lanes * inner;
      from += lane * inner;
      std::int64_t row = lane;
      for (; row + (rows_at_once - 1) * lanes < rows; row += rows_at_once * lanes, from += rows_at_once * step) {
        T loaded[rows_at_once];
        for (int k = 0; k < rows_at_once; ++k) loaded[k] = from[k * step];
        for (int k = 0; k < rows_at_once; ++k) value = Combine::combine(value, loaded[k]);
      }
      for (; row < rows; row += lanes, from += step) value = Combine::combine(value, *from);
    }
    shared.parts[t] = value;
    for (int half = lanes / 2; half > 0; half /= 2) {
      thread.sync();
      if (lane < half) shared.parts[t] = Combine::combine(shared.parts[t], shared.parts[t + half * columns]);
    }
    if (lane == 0 && column < inner) out[unit * inner + column] = shared.parts[t];
  }
};

Cut cut_of(const Reduce& r) { return {r.outer, r.count, r.inner}; }

template <class T, class Combine>
void reduce(cuda::Runtime& runtime, std::int64_t outer, std::int64_t count, std::int64_t inner, const Cut& cut,
            const T* in, T* out) {
  launch(runtime, outer * cut.chunks * cut.column_groups,
         ReduceKernel<T, Combine>{count, inner, cut.chunk_rows, cut.column_groups, cut.chunks, cut.columns, in, out});
}

template <class T, class Combine> void reduce(cuda::Runtime& runtime, const Reduce& r, Addresses addresses) {
  const T* in = at<const T>(addresses, r.in);
  T* out = at<T>(addresses, r.out);
  const Cut cut = cut_of(r);
  if (cut.chunks == 1) return reduce<T, Combine>(runtime, r.outer, r.count, r.inner, cut, in, out);
  T* parts = at<T>(addresses, r.workspace);
  reduce<T, Combine>(runtime, r.outer, r.count, r.inner, cut, in, parts);
  Cut whole = cut;
  whole.chunks = 1;
  whole.chunk_rows = cut.chunks;
  reduce<T, Combine>(runtime, r.outer, cut.chunks, r.inner, whole, parts, out);
}

/// A thread for each column.
template <class T>
struct CumsumKernel {
  static constexpr const char* name = "cumsum";
  std::int64_t count;
  Divisor inner;
  bool exclusive, reverse;
  const T* in;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    std::int64_t unit = i;
    const std::int64_t column = inner.divide(unit), step = reverse ? -inner.by : inner.by;
    std::int64_t place = (unit * count + (reverse ? count - 1 : 0)) * inner.by + column;
    T sum = 0;
    for (std::int64_t k = 0; k < count; ++k, place += step) {
      const T more = in[place];
      out[place] = exclusive ? sum : sum + more;
      sum += more;
    }
  }
};

/// A warp for each row. It adds up as many entries at a time as it has lanes.
template <class T>
struct CumsumRowsKernel {
  static constexpr const char* name = "cumsum of rows";
  static constexpr unsigned threads = cuda::warp;
  using Meets = void;
  std::int64_t count;
  bool exclusive, reverse;
  const T* in;
  T* out;

  ETUDE_DEVICE void operator()(const Thread& thread) const {
    T sum = 0;  // of all entries before those of the warp
    for (std::int64_t first = 0; first < count; first += threads) {
      const std::int64_t entry = first + thread.index();
      const std::int64_t place = thread.block() * count + (reverse ? count - 1 - entry : entry);
      const T own = entry < count ? in[place] : T(0);
      // Of groups of lanes that double: the sum of the whole group, and of the lanes before this one.
      T whole = own, before = 0;
      for (unsigned mask = 1; mask < threads; mask *= 2) {
        const T other = thread.across(whole, mask);
        if ((thread.index() & mask) != 0) before += other;
        whole += other;
      }
      if (entry < count) out[place] = exclusive ? sum + before : sum + before + own;
      sum += whole;
    }
  }
};

/// A thread for each element, whose place is the number of elements before it: quadratic in the length of a row, but
/// the threads do not wait for each other.
template <class T>
struct ArgSortKernel {
  static constexpr const char* name = "argsort";
  Divisor count;
  bool descending;
  const T* in;
  std::int32_t* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    std::int64_t row = i;
    const std::int64_t column = count.divide(row);
    const T* of_row = in + row * count.by;
    const T own = of_row[column];
    std::int64_t place = 0;
    for (std::int64_t j = 0; j < count.by; ++j) {
      const T other = of_row[j];
      const bool is_less = other < own || (other == other && own != own);
      const bool is_greater = own < other || (own == own && other != other);
      if (descending ? is_greater : is_less) ++place;
      if (!is_less && !is_greater && j < column) ++place;
    }
    out[row * count.by + place] = static_cast<std::int32_t>(column);
  }
};

}  // namespace

std::size_t Cuda::wanted_workspace(const Reduce& r) const {
  const std::int64_t chunks = cut_of(r).chunks;
  return chunks == 1 ? 0 : static_cast<std::size_t>(r.outer * chunks * r.inner) * size_of(r.out.dtype);
}

void Cuda::compute(const Reduce& r, Addresses addresses) {
  const auto go = [&]<class T>(T) {
    if (r.kind == Reduce::Kind::sum)
      reduce<T, Total<T>>(*runtime_, r, addresses);
    else
      reduce<T, Largest<T>>(*runtime_, r, addresses);
  };
  if (r.in.dtype == DType::int32) return go(std::int32_t{});
  cuda::with_float(r.in.dtype, go);
}

void Cuda::compute(const Cumsum& c, Addresses addresses) {
  const auto go = [&]<class T>(T) {
    const T* in = at<const T>(addresses, c.in);
    T* out = at<T>(addresses, c.out);
    if (c.inner == 1 && c.count >= cuda::warp)
      launch(*runtime_, c.outer, CumsumRowsKernel<T>{c.count, c.exclusive, c.reverse, in, out});
    else
      launch_each(*runtime_, c.outer * c.inner, CumsumKernel<T>{c.count, c.inner, c.exclusive, c.reverse, in, out});
  };
  if (c.in.dtype == DType::int32) return go(std::int32_t{});
  cuda::with_float(c.in.dtype, go);
}

void Cuda::compute(const ArgSort& sort, Addresses addresses) {
  const auto go = [&]<class T>(T) {
    launch_each(*runtime_, sort.rows * sort.count,
                ArgSortKernel<T>{sort.count, sort.descending, at<const T>(addresses, sort.in),
                                 at<std::int32_t>(addresses, sort.out)});
  };
  if (sort.in.dtype == DType::int32) return go(std::int32_t{});
  cuda::with_float(sort.in.dtype, go);
}

}  // namespace etude
