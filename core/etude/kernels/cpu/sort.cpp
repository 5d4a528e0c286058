#include <algorithm>
#include <numeric>

#include "etude/kernels/cpu/cpu.hpp"
#include "etude/kernels/cpu/launch.hpp"

namespace etude {

using cpu::at;
using cpu::row_grain;
using cpu::split;
using instruction::ArgSort;

namespace {

/// Sorts the indices of rows [begin, end). Equal elements are ordered by their indices: a stable sort would allocate.
template <class T> void sort_rows(const ArgSort& sort, Addresses addresses, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const T* in = at<const T>(addresses, sort.in) + row * sort.count;
    std::int32_t* out = at<std::int32_t>(addresses, sort.out) + row * sort.count;
    std::iota(out, out + sort.count, 0);
    std::sort(out, out + sort.count, [in, descending = sort.descending](std::int32_t i, std::int32_t j) {
      const T a = in[descending ? j : i], b = in[descending ? i : j];
      if (a < b || (a == a && b != b)) return true;
      return !(b < a || (b == b && a != a)) && i < j;
    });
  }
}

}  // namespace

void Cpu::compute(const ArgSort& sort, Addresses addresses) {
  auto rows = sort_rows<std::int32_t>;
  if (sort.in.dtype != DType::int32) cpu::with_float(sort.in.dtype, [&]<class T>(T) { rows = sort_rows<T>; });
  split(sort.rows, row_grain(sort.count),
        [&](std::int64_t begin, std::int64_t end) { rows(sort, addresses, begin, end); });
}

}  // namespace etude
