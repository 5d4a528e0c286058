#include "cuda/batch_axes.hpp"
#include "cuda/cuda.hpp"
#include "cuda/launch.hpp"

namespace etude {

using cuda::at;
using cuda::BatchAxes;
using cuda::blocks_for;
using cuda::Divisor;
using cuda::launch;
using cuda::Thread;

namespace {

/// Transposes by axes in the order of the result, with their strides in x. Squares of the innermost axis of the result
/// and the innermost axis of x go through shared memory, so that both are read and written along rows.
template <class T>
struct TransposeKernel {
  static constexpr const char* name = "transpose";
  static constexpr int extent = 32, at_once = 8;
  static constexpr unsigned threads = extent * at_once;
  using Meets = void;
  struct Shared {
    T square[extent][extent + 1];
  };
  const T* in;
  T* out;
  // The other axes.
  int axes;
  Divisor extents[Shape::max_rank];
  std::int64_t in_strides[Shape::max_rank], out_strides[Shape::max_rank];
  // [rows, columns] with contiguous columns in x becomes [columns, rows] with contiguous rows; squares across and down.
  std::int64_t rows, columns, in_row, out_column;
  Divisor across, down;

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    std::int64_t block = thread.block();
    const std::int64_t left = across.divide(block) * extent, top = down.divide(block) * extent;
    const T* from = in;
    T* to = out;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const std::int64_t entry = extents[axis].divide(block);
      from += entry * in_strides[axis];
      to += entry * out_strides[axis];
    }
    const int x = static_cast<int>(thread.index()) % extent, y = static_cast<int>(thread.index()) / extent;
    for (int i = y; i < extent; i += at_once)
      if (top + i < rows && left + x < columns) shared.square[i][x] = from[(top + i) * in_row + left + x];
    thread.sync();
    for (int i = y; i < extent; i += at_once)
      if (left + i < columns && top + x < rows) to[(left + i) * out_column + top + x] = shared.square[x][i];
  }
};

/// If the innermost axis stays innermost: one element per thread.
template <class T>
struct StridedCopyKernel {
  static constexpr const char* name = "strided copy";
  const T* in;
  T* out;
  BatchAxes axes;

  ETUDE_DEVICE void operator()(std::int64_t i) const { out[i] = in[axes.offset(i)]; }
};

template <class T> void transpose(cuda::Runtime& runtime, const instruction::Transpose& t, Addresses addresses) {
  const T* in = at<const T>(addresses, t.in);
  T* out = at<T>(addresses, t.out);
  // Axes of more than one entry; in the result each entry of an axis is `out` elements from the next.
  struct Axis {
    std::int64_t extent, in, out;
  };
  Axis axes[Shape::max_rank];
  int count = 0;
  std::int64_t stride = t.extents.size();
  for (std::size_t i = 0; i < t.extents.rank(); ++i) {
    const auto axis = static_cast<std::ptrdiff_t>(i);
    stride /= t.extents[axis];
    if (t.extents[axis] > 1) axes[count++] = {t.extents[axis], t.strides[axis], stride};
  }
  int innermost = 0;  // of x
  while (innermost < count && axes[innermost].in != 1) ++innermost;
  if (innermost >= count - 1) {
    StridedCopyKernel<T> kernel{in, out, {count, {}, {}}};
    for (int i = 0; i < count; ++i) kernel.axes.extents[i] = axes[i].extent, kernel.axes.strides[i] = axes[i].in;
    return cuda::launch_each(runtime, t.extents.size(), kernel);
  }
  const Axis &rows = axes[count - 1], &columns = axes[innermost];
  const std::int64_t across = blocks_for(columns.extent, TransposeKernel<T>::extent),
                     down = blocks_for(rows.extent, TransposeKernel<T>::extent);
  TransposeKernel<T> kernel{in, out, 0, {}, {}, {}, rows.extent, columns.extent, rows.in, columns.out, across, down};
  std::int64_t others = 1;
  for (int i = 0; i < count - 1; ++i) {
    if (i == innermost) continue;
    kernel.extents[kernel.axes] = axes[i].extent;
    kernel.in_strides[kernel.axes] = axes[i].in;
    kernel.out_strides[kernel.axes++] = axes[i].out;
    others *= axes[i].extent;
  }
  launch(runtime, others * across * down, kernel);
}

}  // namespace

void Cuda::compute(const instruction::Transpose& t, Addresses addresses) {
  if (t.extents.size() == 0) return;
  switch (size_of(t.in.dtype)) {
    case 1: return transpose<std::uint8_t>(*runtime_, t, addresses);
    case 2: return transpose<std::uint16_t>(*runtime_, t, addresses);
    case 8: return transpose<std::uint64_t>(*runtime_, t, addresses);
    default: return transpose<std::uint32_t>(*runtime_, t, addresses);
  }
}

}  // namespace etude
