#include <algorithm>

#include "etude/kernels/cpu/cpu.hpp"
#include "etude/kernels/cpu/launch.hpp"

// Reductions. Columns are summed in chunks of rows, and then the chunks are summed. So tall columns provide work for
// every thread, and errors grow with the chunks and not with the rows. The chunks depend only on the shape.

namespace etude {

using cpu::at;
using cpu::row_grain;
using cpu::split;
using instruction::Cumsum;
using instruction::Reduce;

namespace {

/// The most rows of a chunk.
constexpr std::int64_t chunk_most = 256;

std::int64_t chunks_of(const Reduce& r) {
  return r.inner == 1 ? 1 : std::max<std::int64_t>((r.count + chunk_most - 1) / chunk_most, 1);
}

template <class T> using Columns = void (*)(const T*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, T*);

/// in [outer, count, inner] -> out [outer, chunks, inner]: the columns of all chunks, divided among threads as one row.
template <class T> void reduce_columns(Columns<T> columns, const T* in, const Reduce& r, std::int64_t chunks, T* out) {
  const std::int64_t each = (r.count + chunks - 1) / chunks;
  const std::int64_t grain = std::max<std::int64_t>(row_grain(each) / 64, 1) * 64;
  split(r.outer * chunks * r.inner, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end;) {
      const std::int64_t unit = first / r.inner, column = first % r.inner;
      const std::int64_t last = std::min(r.inner, column + end - first), row = unit % chunks * each;
      columns(in + (unit / chunks * r.count + row) * r.inner, std::clamp<std::int64_t>(r.count - row, 0, each), r.inner,
              column, last, out + unit * r.inner);
      first += last - column;
    }
  });
}

/// Takes columns [begin, end) of all through the entries of the axis.
template <class T> void add_up(const Cumsum& c, Addresses addresses, std::int64_t begin, std::int64_t end) {
  const T* in = at<const T>(addresses, c.in);
  T* out = at<T>(addresses, c.out);
  const std::int64_t step = c.reverse ? -c.inner : c.inner, first = c.reverse ? (c.count - 1) * c.inner : 0;
  for (std::int64_t width; begin < end; begin += width) {
    const std::int64_t column = begin % c.inner;
    std::int64_t place = begin / c.inner * c.count * c.inner + first + column;
    width = std::min(c.inner - column, end - begin);
    for (std::int64_t j = 0; j < width; ++j) out[place + j] = c.exclusive ? T(0) : in[place + j];
    for (std::int64_t k = 1; k < c.count; ++k, place += step) {
      const T* more = in + place + (c.exclusive ? 0 : step);
      for (std::int64_t j = 0; j < width; ++j) out[place + step + j] = out[place + j] + more[j];
    }
  }
}

}  // namespace

std::size_t Cpu::wanted_workspace(const Reduce& r) const {
  const std::int64_t chunks = chunks_of(r);
  return chunks == 1 ? 0 : static_cast<std::size_t>(r.outer * chunks * r.inner) * size_of(r.out.dtype);
}

template <class T> void Cpu::reduce(const Reduce& r, Addresses addresses) {
  const auto& kernels = cpu::float_kernels<T>(kernels_);
  const T* in = at<const T>(addresses, r.in);
  T* out = at<T>(addresses, r.out);
  const bool sum = r.kind == Reduce::Kind::sum;
  if (r.inner == 1) {
    split(r.outer, row_grain(r.count), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out[i] = (sum ? kernels.sum : kernels.max)(in + i * r.count, r.count);
    });
    return;
  }
  const Columns<T> columns = sum ? kernels.sum_columns : kernels.max_columns;
  const std::int64_t chunks = chunks_of(r);
  if (chunks == 1) return reduce_columns(columns, in, r, 1, out);
  T* parts = at<T>(addresses, r.workspace);
  reduce_columns(columns, in, r, chunks, parts);
  Reduce last = r;
  last.count = chunks;
  reduce_columns(columns, static_cast<const T*>(parts), last, 1, out);
}

void Cpu::compute(const Reduce& instruction, Addresses addresses) {
  if (instruction.in.dtype != DType::int32) {
    cpu::with_float(instruction.in.dtype, [&]<class T>(T) { reduce<T>(instruction, addresses); });
    return;
  }
  const auto* in = at<const std::int32_t>(addresses, instruction.in);
  auto* out = at<std::int32_t>(addresses, instruction.out);
  split(instruction.outer, row_grain(instruction.count * instruction.inner), [&](std::int64_t begin, std::int64_t end) {
    std::fill(out + begin * instruction.inner, out + end * instruction.inner, 0);
    for (std::int64_t o = begin; o < end; ++o)
      for (std::int64_t c = 0; c < instruction.count; ++c)
        for (std::int64_t i = 0; i < instruction.inner; ++i)
          out[o * instruction.inner + i] += in[(o * instruction.count + c) * instruction.inner + i];
  });
}

void Cpu::compute(const Cumsum& c, Addresses addresses) {
  auto sum = add_up<std::int32_t>;
  if (c.in.dtype != DType::int32) cpu::with_float(c.in.dtype, [&]<class T>(T) { sum = add_up<T>; });
  split(c.outer * c.inner, row_grain(c.count),
        [&](std::int64_t begin, std::int64_t end) { sum(c, addresses, begin, end); });
}

}  // namespace etude
