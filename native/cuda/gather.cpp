#include <limits>

#include "cuda/cuda.hpp"
#include "cuda/divisor.hpp"
#include "cuda/launch.hpp"
#include "cuda/sort.hpp"

namespace etude {

using cuda::at;
using cuda::blocks_for;
using cuda::Divisor;
using cuda::Key;
using cuda::launch;
using cuda::launch_each;
using cuda::Thread;
using instruction::ScatterAdd;

namespace {

template <class T>
struct GatherKernel {
  static constexpr const char* name = "gather";
  Divisor width;
  std::int64_t rows;
  const T* table;
  const std::int32_t *indices, *first;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    std::int64_t place = i;
    const std::int64_t column = width.divide(place), row = indices[(first ? *first : 0) + place];
    out[i] = row >= 0 && row < rows ? table[row * width.by + column] : std::numeric_limits<T>::quiet_NaN();
  }
};

/// A warp for each row of the result and each chunk of its columns. It scans all indices, many at a time, and adds the
/// rows with its index in order.
template <class T>
struct ScatterAddKernel {
  static constexpr const char* name = "scatter add";
  static constexpr unsigned threads = cuda::warp;
  using Meets = void;
  std::int64_t count, width;
  Divisor chunks;
  const T* in;
  const std::int32_t* indices;
  T* out;

  ETUDE_DEVICE void operator()(const Thread& thread) const {
    std::int64_t row = thread.block();
    const std::int64_t column = chunks.divide(row) * threads + thread.index();
    T sum = 0;
    for (std::int64_t first = 0; first < count; first += threads) {
      const std::int64_t mine = first + thread.index();
      // A bit for each lane whose index is this row.
      unsigned meant = mine < count && indices[mine] == row ? 1u << thread.index() : 0;
      for (unsigned mask = 1; mask < threads; mask *= 2) meant |= thread.across(meant, mask);
      for (unsigned lane = 0; meant >> lane; ++lane) {
        if ((meant >> lane & 1) != 0 && column < width) sum += in[(first + lane) * width + column];
        if (lane == threads - 1) break;  // shifting by all bits is not defined
      }
    }
    if (column < width) out[row * width + column] = sum;
  }
};

/// An index, and its position. Sorted by these keys, rows are in the order of their addition. Indices out of range come
/// last.
struct IndexKeys {
  static constexpr std::uint32_t nowhere = 0xffffffff;
  const std::int32_t* indices;
  std::int64_t rows;

  ETUDE_DEVICE Key operator()(std::int64_t i) const {
    const std::int32_t index = indices[i];
    const std::uint32_t row = index >= 0 && index < rows ? static_cast<std::uint32_t>(index) : nowhere;
    return Key{row} << 32 | static_cast<std::uint32_t>(i);
  }
  ETUDE_DEVICE static std::uint32_t row_of(Key key) { return static_cast<std::uint32_t>(key >> 32); }
  ETUDE_DEVICE static std::uint32_t place_of(Key key) { return static_cast<std::uint32_t>(key); }
};

template <class T>
struct FillKernel {
  static constexpr const char* name = "fill";
  T* out;
  ETUDE_DEVICE void operator()(std::int64_t i) const { out[i] = T(0); }
};

/// A thread for each key and column. The thread of the first key of a row adds up the whole row, in order.
template <class T>
struct AddRunsKernel {
  static constexpr const char* name = "add runs";
  static constexpr int at_once = 8;  ///< loads that a thread starts before it adds
  std::int64_t count;
  Divisor width;
  const Key* keys;
  const T* in;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    std::int64_t slot = i;
    const std::int64_t column = width.divide(slot);
    const std::uint32_t row = IndexKeys::row_of(keys[slot]);
    if (row == IndexKeys::nowhere || (slot > 0 && IndexKeys::row_of(keys[slot - 1]) == row)) return;
    T sum = 0;
    for (bool continues = true; continues; slot += at_once) {
      T values[at_once];
      bool counts[at_once];
      for (int k = 0; k < at_once; ++k) {
        const Key key = slot + k < count ? keys[slot + k] : ~Key{0};
        counts[k] = IndexKeys::row_of(key) == row;
        values[k] = counts[k] ? in[IndexKeys::place_of(key) * width.by + column] : T(0);
      }
      for (int k = 0; k < at_once; ++k)
        if (counts[k]) sum += values[k];
      continues = counts[at_once - 1];
    }
    out[row * width.by + column] = sum;
  }
};

/// The most indices that are scanned, counted once for each warp that scans them. More indices are sorted.
constexpr std::int64_t most_looked_at = std::int64_t{1} << 22;

bool is_sorted(const ScatterAdd& s) {
  return s.count > 0 && s.rows * blocks_for(s.width, cuda::warp) > most_looked_at / s.count;
}

template <class T>
struct OneHotKernel {
  static constexpr const char* name = "one hot";
  Divisor depth;
  const std::int32_t* labels;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    std::int64_t row = i;
    const std::int64_t column = depth.divide(row);
    out[i] = static_cast<T>(labels[row] == column);
  }
};

}  // namespace

void Cuda::compute(const instruction::Gather& g, Addresses addresses) {
  visit_dtype(g.out.dtype, [&]<class T>(T) {
    launch_each(
        *runtime_, g.count * g.width,
        GatherKernel<T>{g.width, g.rows, at<const T>(addresses, g.table), at<const std::int32_t>(addresses, g.indices),
                        at<const std::int32_t>(addresses, g.first), at<T>(addresses, g.out)});
  });
}

std::size_t Cuda::wanted_workspace(const ScatterAdd& s) const {
  return is_sorted(s) ? 2 * sizeof(Key) * static_cast<std::size_t>(s.count) : 0;
}

void Cuda::compute(const ScatterAdd& s, Addresses addresses) {
  const auto* indices = at<const std::int32_t>(addresses, s.indices);
  cuda::with_float(s.out.dtype, [&]<class T>(T) {
    const T* in = at<const T>(addresses, s.in);
    T* out = at<T>(addresses, s.out);
    if (!is_sorted(s)) {
      const std::int64_t chunks = blocks_for(s.width, cuda::warp);
      return launch(*runtime_, s.rows * chunks, ScatterAddKernel<T>{s.count, s.width, chunks, in, indices, out});
    }
    Key* workspace = at<Key>(addresses, s.workspace);
    const Key* keys = cuda::sort(*runtime_, s.count, IndexKeys{indices, s.rows}, workspace, workspace + s.count);
    launch_each(*runtime_, s.rows * s.width, FillKernel<T>{out});
    launch_each(*runtime_, s.count * s.width, AddRunsKernel<T>{s.count, s.width, keys, in, out});
  });
}

void Cuda::compute(const instruction::OneHot& o, Addresses addresses) {
  visit_dtype(o.out.dtype, [&]<class T>(T) {
    launch_each(*runtime_, o.rows * o.depth,
                OneHotKernel<T>{o.depth, at<const std::int32_t>(addresses, o.labels), at<T>(addresses, o.out)});
  });
}

}  // namespace etude
