#include <algorithm>
#include <cstring>

#include "etude/kernels/cpu/cpu.hpp"
#include "etude/kernels/cpu/launch.hpp"

// Transposes: axes that stay adjacent are merged. Where the innermost axis stays innermost, runs of it are copied; else
// the two axes that are innermost before and after are transposed in squares.

namespace etude {

using cpu::at;
using cpu::split;
using instruction::Transpose;

namespace {

struct Axes {
  std::int64_t extents[Shape::max_rank], in[Shape::max_rank], out[Shape::max_rank];
  int count = 0;

  void append(std::int64_t extent, std::int64_t in_stride, std::int64_t out_stride) {
    extents[count] = extent;
    in[count] = in_stride;
    out[count++] = out_stride;
  }
  /// Removes and returns axis `index`.
  Axes remove(int index) {
    Axes taken;
    taken.append(extents[index], in[index], out[index]);
    --count;
    for (int i = index; i < count; ++i) extents[i] = extents[i + 1], in[i] = in[i + 1], out[i] = out[i + 1];
    return taken;
  }
  std::int64_t size() const {
    std::int64_t product = 1;
    for (int i = 0; i < count; ++i) product *= extents[i];
    return product;
  }
};

/// Removes axes of extent 1 and merges axes that stay adjacent.
Axes merged(const Transpose& t) {
  Axes axes;
  std::int64_t stride = t.extents.size();
  for (std::size_t i = 0; i < t.extents.rank(); ++i) {
    const std::int64_t extent = t.extents[static_cast<std::ptrdiff_t>(i)],
                       in = t.strides[static_cast<std::ptrdiff_t>(i)];
    stride /= std::max<std::int64_t>(extent, 1);
    if (extent == 1) continue;
    if (const int last = axes.count - 1; last >= 0 && axes.in[last] == in * extent) {
      axes.extents[last] *= extent;
      axes.in[last] = in;
      axes.out[last] = stride;
    } else {
      axes.append(extent, in, stride);
    }
  }
  return axes;
}

/// Calls visit(in offset, out offset) for entries [begin, end) of the axes.
template <class Visitor> void for_each(const Axes& axes, std::int64_t begin, std::int64_t end, Visitor visit) {
  for (std::int64_t i = begin; i < end; ++i) {
    std::int64_t rest = i, in = 0, out = 0;
    for (int axis = axes.count - 1; axis >= 0; --axis) {
      const std::int64_t index = rest % axes.extents[axis];
      rest /= axes.extents[axis];
      in += index * axes.in[axis];
      out += index * axes.out[axis];
    }
    visit(in, out);
  }
}

/// out[c, r] = in[r, c], with rows `in_row` and `out_row` apart, in blocks that stay in the first-level cache.
template <class T>
void transpose_scalars(const T* in, std::int64_t in_row, T* out, std::int64_t out_row, std::int64_t rows,
                       std::int64_t columns) {
  constexpr std::int64_t block = 32;
  for (std::int64_t r = 0; r < rows; r += block)
    for (std::int64_t c = 0; c < columns; c += block)
      for (std::int64_t j = c; j < std::min(c + block, columns); ++j)
        for (std::int64_t i = r; i < std::min(r + block, rows); ++i) out[j * out_row + i] = in[i * in_row + j];
}

/// Elements of a transpose for which another thread pays.
constexpr std::int64_t grain = 32768;

/// Copies runs of `run` elements of `size` bytes.
void copy_runs(const Axes& outer, std::int64_t run, std::int64_t size, const std::byte* in, std::byte* out) {
  split(outer.size(), std::max<std::int64_t>(grain / std::max<std::int64_t>(run, 1), 1), [&](auto begin, auto end) {
    for_each(outer, begin, end, [&](std::int64_t from, std::int64_t to) {
      std::memcpy(out + to * size, in + from * size, static_cast<std::size_t>(run * size));
    });
  });
}

}  // namespace

/// T has the size of the elements, of any type.
template <class T> void Cpu::transpose(const Transpose& instruction, Addresses addresses) {
  const T* in = at<const T>(addresses, instruction.in);
  T* out = at<T>(addresses, instruction.out);
  Axes outer = merged(instruction);
  if (outer.count == 0) outer.append(1, 1, 1);
  const Axes last = outer.remove(outer.count - 1);
  if (last.in[0] == 1)
    return copy_runs(outer, last.extents[0], sizeof(T), at<const std::byte>(addresses, instruction.in),
                     at<std::byte>(addresses, instruction.out));
  // The columns are the innermost axis before, the rows the innermost axis afterwards.
  const Axes columns = outer.remove(static_cast<int>(std::find(outer.in, outer.in + outer.count, 1) - outer.in));
  const std::int64_t rows = last.extents[0], width = columns.extents[0], squares = (rows + 63) / 64;
  split(outer.size() * squares, std::max<std::int64_t>(grain / (64 * width), 1), [&](auto begin, auto end) {
    for_each(outer, begin / squares, (end + squares - 1) / squares,
             [&, entry = begin / squares](auto from, auto to) mutable {
               const std::int64_t first = std::max(begin - entry * squares, std::int64_t{0}) * 64,
                                  behind = std::min(std::min(end - entry * squares, squares) * 64, rows);
               ++entry;
               const T* source = in + from + first * last.in[0];
               T* target = out + to + first;
               if constexpr (std::is_same_v<T, float>)
                 kernels_.float32.transpose(source, last.in[0], target, columns.out[0], behind - first, width);
               else
                 transpose_scalars(source, last.in[0], target, columns.out[0], behind - first, width);
             });
  });
}

void Cpu::compute(const Transpose& instruction, Addresses addresses) {
  if (instruction.extents.size() == 0) return;
  switch (size_of(instruction.in.dtype)) {
    case 1: return transpose<std::uint8_t>(instruction, addresses);
    case 2: return transpose<std::uint16_t>(instruction, addresses);
    case 8: return transpose<double>(instruction, addresses);
    default: return transpose<float>(instruction, addresses);
  }
}

}  // namespace etude
