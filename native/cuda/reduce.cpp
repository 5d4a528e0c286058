#include <limits>
#include <type_traits>

#include "cuda/launch.hpp"

// Reductions. A block of threads reduces some neighbouring columns, of which each thread has a part of the rows; tall
// ones are cut into chunks, reduced once more. Who adds up what depends on the shape alone.

namespace etude {

using cuda::at;
using cuda::blocks_for;
using cuda::launch;
using cuda::Thread;
using instruction::Reduce;

namespace {

constexpr std::int64_t chunk_rows = 4096;

template <class T> struct Largest {
  ETUDE_DEVICE static T none() {
    if constexpr (std::is_floating_point_v<T>)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::lowest();
  }
  ETUDE_DEVICE static T join(T a, T b) { return a > b || a != a ? a : b; }
};
template <class T> struct Total {
  ETUDE_DEVICE static T none() { return T(0); }
  ETUDE_DEVICE static T join(T a, T b) { return a + b; }
};

/// in [outer, count, inner] -> out [outer, chunks, inner]; a block has `columns` columns, a power of two.
template <class T, class Join>
struct ReduceKernel {
  static constexpr const char* name = "reduce";
  static constexpr unsigned threads = 256;
  using Meets = void;
  struct Shared {
    T parts[threads];
  };
  std::int64_t count, inner, chunks;
  int columns;
  const T* in;
  T* out;

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const int t = static_cast<int>(thread.index()), lane = t / columns, lanes = static_cast<int>(threads) / columns;
    const std::int64_t stretches = (inner + columns - 1) / columns;
    const std::int64_t column = thread.block() % stretches * columns + t % columns, unit = thread.block() / stretches;
    const std::int64_t first = unit % chunks * chunk_rows, rest = count - first;
    const std::int64_t rows = chunks > 1 && rest > chunk_rows ? chunk_rows : rest;
    T value = Join::none();
    if (column < inner) {
      const T* from = in + (unit / chunks * count + first) * inner + column;
      for (std::int64_t row = lane; row < rows; row += lanes) value = Join::join(value, from[row * inner]);
    }
    shared.parts[t] = value;
    for (int half = lanes / 2; half > 0; half /= 2) {
      thread.sync();
      if (lane < half) shared.parts[t] = Join::join(shared.parts[t], shared.parts[t + half * columns]);
    }
    if (lane == 0 && column < inner) out[unit * inner + column] = shared.parts[t];
  }
};

std::int64_t chunks_of(const Reduce& r) { return std::max<std::int64_t>(blocks_for(r.count, chunk_rows), 1); }

template <class T, class Join>
void reduce(cuda::Runtime& runtime, std::int64_t outer, std::int64_t count, std::int64_t inner, std::int64_t chunks,
            const T* in, T* out) {
  int columns = 1;
  while (columns < inner && columns < static_cast<int>(cuda::warp)) columns *= 2;
  launch(runtime, outer * chunks * blocks_for(inner, columns),
         ReduceKernel<T, Join>{count, inner, chunks, columns, in, out});
}

template <class T, class Join> void reduce(cuda::Runtime& runtime, const Reduce& r, Addresses addresses) {
  const T* in = at<const T>(addresses, r.in);
  T* out = at<T>(addresses, r.out);
  const std::int64_t chunks = chunks_of(r);
  if (chunks == 1) return reduce<T, Join>(runtime, r.outer, r.count, r.inner, 1, in, out);
  T* parts = at<T>(addresses, r.workspace);
  reduce<T, Join>(runtime, r.outer, r.count, r.inner, chunks, in, parts);
  reduce<T, Join>(runtime, r.outer, chunks, r.inner, 1, parts, out);
}

}  // namespace

std::size_t Cuda::workspace(const Reduce& r) const {
  const std::int64_t chunks = chunks_of(r);
  return chunks == 1 ? 0 : static_cast<std::size_t>(r.outer * chunks * r.inner) * size_of(r.out.dtype);
}

void Cuda::run(const Reduce& r, Addresses addresses) {
  const auto go = [&]<class T>(T) {
    if (r.kind == Reduce::Kind::sum)
      reduce<T, Total<T>>(*runtime_, r, addresses);
    else
      reduce<T, Largest<T>>(*runtime_, r, addresses);
  };
  if (r.in.dtype == DType::int32) return go(std::int32_t{});
  cuda::with_float(r.in.dtype, go);
}

}  // namespace etude
