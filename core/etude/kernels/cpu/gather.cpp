#include <algorithm>
#include <cstring>
#include <limits>

#include "etude/kernels/cpu/cpu.hpp"
#include "etude/kernels/cpu/launch.hpp"

namespace etude {

using cpu::at;
using cpu::split;

void Cpu::compute(const instruction::Gather& g, Addresses addresses) {
  const auto* indices = at<const std::int32_t>(addresses, g.indices);
  if (g.first.space >= 0) indices += *at<const std::int32_t>(addresses, g.first);
  std::byte missing[8];  // the element of an index out of range
  visit_dtype(g.out.dtype, [&]<class T>(T) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    std::memcpy(missing, &nan, sizeof nan);
  });
  const std::size_t size = size_of(g.out.dtype), row = static_cast<std::size_t>(g.width) * size;
  const auto* table = at<const std::byte>(addresses, g.table);
  auto* out = at<std::byte>(addresses, g.out);
  split(g.count, std::max<std::int64_t>(16384 / std::max<std::int64_t>(g.width, 1), 1),
        [&](std::int64_t begin, std::int64_t end) {
          for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            std::byte* to = out + i * row;
            if (indices[i] >= 0 && indices[i] < g.rows)
              std::memcpy(to, table + static_cast<std::size_t>(indices[i]) * row, row);
            else
              for (std::size_t at = 0; at < row; at += size) std::memcpy(to + at, missing, size);
          }
        });
}

/// Threads share the columns: whatever their number, each element is summed in the same order.
void Cpu::compute(const instruction::ScatterAdd& s, Addresses addresses) {
  const auto* indices = at<const std::int32_t>(addresses, s.indices);
  cpu::with_float(s.out.dtype, [&]<class T>(T) {
    const T* in = at<const T>(addresses, s.in);
    T* out = at<T>(addresses, s.out);
    const std::int64_t grain = std::max<std::int64_t>(65536 / std::max<std::int64_t>(s.count + s.rows, 1), 16);
    split(s.width, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = 0; row < s.rows; ++row)
        std::fill(out + row * s.width + begin, out + row * s.width + end, T(0));
      for (std::int64_t i = 0; i < s.count; ++i) {
        if (indices[i] < 0 || indices[i] >= s.rows) continue;
        const T* from = in + i * s.width;
        T* to = out + indices[i] * s.width;
        for (std::int64_t j = begin; j < end; ++j) to[j] += from[j];
      }
    });
  });
}

}  // namespace etude
