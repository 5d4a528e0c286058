#include <limits>

#include "cuda/launch.hpp"

namespace etude {

using cuda::at;
using cuda::blocks_for;
using cuda::launch;
using cuda::launch_each;
using cuda::Thread;

namespace {

template <class T>
struct GatherKernel {
  static constexpr const char* name = "gather";
  std::int64_t width, rows;
  const T* table;
  const std::int32_t *indices, *first;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t row = indices[(first ? *first : 0) + i / width];
    out[i] = row >= 0 && row < rows ? table[row * width + i % width] : std::numeric_limits<T>::quiet_NaN();
  }
};

/// A warp for each row of the result and each stretch of its columns: it looks through all indices, many at a time, and
/// adds up the rows that are meant in their order.
template <class T>
struct ScatterAddKernel {
  static constexpr const char* name = "scatter add";
  static constexpr unsigned threads = cuda::warp;
  using Meets = void;
  std::int64_t count, width, rows, stretches;
  const T* in;
  const std::int32_t* indices;
  T* out;

  ETUDE_DEVICE void operator()(const Thread& thread) const {
    const std::int64_t row = thread.block() / stretches, column = thread.block() % stretches * threads + thread.index();
    T sum = 0;
    for (std::int64_t first = 0; first < count; first += threads) {
      const std::int64_t mine = first + thread.index();
      // The lanes whose index is this row, a bit each.
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

template <class T>
struct OneHotKernel {
  static constexpr const char* name = "one hot";
  std::int64_t depth;
  const std::int32_t* labels;
  T* out;

  ETUDE_DEVICE void operator()(std::int64_t i) const { out[i] = static_cast<T>(labels[i / depth] == i % depth); }
};

}  // namespace

void Cuda::run(const instruction::Gather& g, Addresses addresses) {
  visit_dtype(g.out.dtype, [&]<class T>(T) {
    launch_each(
        *runtime_, g.count * g.width,
        GatherKernel<T>{g.width, g.rows, at<const T>(addresses, g.table), at<const std::int32_t>(addresses, g.indices),
                        at<const std::int32_t>(addresses, g.first), at<T>(addresses, g.out)});
  });
}

void Cuda::run(const instruction::ScatterAdd& s, Addresses addresses) {
  const std::int64_t stretches = blocks_for(s.width, cuda::warp);
  cuda::with_float(s.out.dtype, [&]<class T>(T) {
    launch(*runtime_, s.rows * stretches,
           ScatterAddKernel<T>{s.count, s.width, s.rows, stretches, at<const T>(addresses, s.in),
                               at<const std::int32_t>(addresses, s.indices), at<T>(addresses, s.out)});
  });
}

void Cuda::run(const instruction::OneHot& o, Addresses addresses) {
  visit_dtype(o.out.dtype, [&]<class T>(T) {
    launch_each(*runtime_, o.rows * o.depth,
                OneHotKernel<T>{o.depth, at<const std::int32_t>(addresses, o.labels), at<T>(addresses, o.out)});
  });
}

}  // namespace etude
