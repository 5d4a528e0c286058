#include "etude/kernels/cpu/convolution_kernels.hpp"
#include "etude/kernels/cpu/cpu.hpp"
#include "etude/kernels/cpu/launch.hpp"

namespace etude {

using cpu::at;
using cpu::split;
using instruction::Pooling;

namespace {

/// Windows, or cells, for which another thread pays.
constexpr std::int64_t pool_grain = 16384;

std::int64_t pool_rows_grain(const Pooling& p) {
  return std::max<std::int64_t>(pool_grain / std::max<std::int64_t>(p.columns * p.channels, 1), 1);
}

template <class Body> void with_index(const Operand& index, Body body) {
  if (index.dtype == DType::int32) return body(std::int32_t{});
  body(std::uint8_t{});
}

/// Calls visit(pooled element, the cell of x that its index names, or -1) for all of image `n`, in order.
template <class I, class Visitor> void for_each_named(const Pooling& p, const I* index, std::int64_t n, Visitor visit) {
  std::int64_t o = n * p.rows * p.columns * p.channels;
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t j = 0; j < p.columns; ++j)
      for (std::int64_t c = 0; c < p.channels; ++c, ++o) {
        const std::int64_t name = index[o];
        const std::int64_t y = i * p.window.strides[0] - p.window.before[0] + name / p.window.extent[1];
        const std::int64_t x = j * p.window.strides[1] - p.window.before[1] + name % p.window.extent[1];
        const bool cell = name >= 0 && name < p.window.cells() && y >= 0 && y < p.height && x >= 0 && x < p.width;
        visit(o, cell ? ((n * p.height + y) * p.width + x) * p.channels + c : -1);
      }
}

}  // namespace

void Cpu::compute(const instruction::MaxPool& instruction, Addresses addresses) {
  cpu::with_float(instruction.in.dtype, [&]<class T>(T) {
    const auto index = [](std::int64_t value) { return static_cast<std::ptrdiff_t>(value); };
    const Pooling& p = instruction.pooling;
    cpu::PoolArguments<T> a{index(p.batch),
                            index(p.height),
                            index(p.width),
                            index(p.channels),
                            index(p.rows),
                            index(p.columns),
                            index(p.window.extent[0]),
                            index(p.window.extent[1]),
                            index(p.window.strides[0]),
                            index(p.window.strides[1]),
                            index(p.window.before[0]),
                            index(p.window.before[1]),
                            at<const T>(addresses, instruction.in),
                            at<T>(addresses, instruction.out),
                            nullptr,
                            nullptr};
    if (instruction.index.dtype == DType::int32)
      a.index_number = at<std::int32_t>(addresses, instruction.index);
    else
      a.index_byte = at<std::uint8_t>(addresses, instruction.index);
    split(p.batch * p.rows, pool_rows_grain(p), [&](std::int64_t begin, std::int64_t end) {
      cpu::float_kernels<T>(kernels_).max_pool(a, index(begin), index(end));
    });
  });
}

void Cpu::compute(const instruction::PoolGather& instruction, Addresses addresses) {
  cpu::with_float(instruction.in.dtype, [&]<class T>(T) {
    with_index(instruction.index, [&]<class I>(I) {
      const T* in = at<const T>(addresses, instruction.in);
      T* out = at<T>(addresses, instruction.out);
      for (std::int64_t n = 0; n < instruction.pooling.batch; ++n)
        for_each_named(instruction.pooling, at<const I>(addresses, instruction.index), n,
                       [&](std::int64_t o, std::int64_t cell) { out[o] = cell < 0 ? T(0) : in[cell]; });
    });
  });
}

void Cpu::compute(const instruction::PoolScatter& instruction, Addresses addresses) {
  cpu::with_float(instruction.in.dtype, [&]<class T>(T) {
    with_index(instruction.index, [&]<class I>(I) {
      const Pooling& p = instruction.pooling;
      const T* in = at<const T>(addresses, instruction.in);
      T* out = at<T>(addresses, instruction.out);
      const std::int64_t image = p.height * p.width * p.channels;
      for (std::int64_t n = 0; n < p.batch; ++n) {
        std::fill_n(out + n * image, image, T(0));
        for_each_named(p, at<const I>(addresses, instruction.index), n, [&](std::int64_t o, std::int64_t cell) {
          if (cell >= 0) out[cell] += in[o];
        });
      }
    });
  });
}

}  // namespace etude
