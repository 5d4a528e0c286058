#include "etude/layers/detail/categories.hpp"

#include <algorithm>
#include <bit>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::categories {

OutputMode output_mode_of(std::string_view name, bool allows_int, std::string_view where) {
  constexpr std::string_view names[] = {"int", "one_hot", "multi_hot", "count"};
  const auto* found = std::ranges::find(names, name);
  check(found != std::end(names) && (allows_int || found != names), ErrorKind::value, where, "output_mode = \"", name,
        "\" - expected ", allows_int ? "\"int\", " : "", "\"one_hot\", \"multi_hot\" or \"count\" - choose one.");
  return static_cast<OutputMode>(found - names);
}

void check_dense(bool sparse, std::string_view where) {
  check(!sparse, ErrorKind::value, where,
        "sparse = true - expected false, because outputs are dense - leave sparse out.");
}

Value encoded(Value numbers, std::int64_t depth, OutputMode mode, DType dtype, Value weights) {
  if (mode == OutputMode::integer) return numbers;
  if (is_half(dtype)) return ops::cast(encoded(numbers, depth, mode, DType::float32, weights), dtype);
  if (numbers.shape().rank() == 0) numbers = ops::expand_dims(numbers, -1);
  const bool is_single = numbers.shape().rank() == 1;
  if (mode == OutputMode::one_hot) {
    const bool squeezes = !is_single && numbers.shape()[-1] == 1;
    return ops::one_hot(squeezes ? ops::squeeze(numbers, -1) : numbers, depth, dtype);
  }
  const Value hot = ops::one_hot(numbers, depth, dtype);
  const std::ptrdiff_t axis = is_single ? 0 : 1;
  if (mode == OutputMode::multi_hot && hot.shape()[axis] > 0) return ops::max(hot, {axis});
  return ops::sum(weights ? hot * ops::expand_dims(weights, -1) : hot, {axis});
}

Value count_up_to(Value sorted, Value x) {
  const std::int64_t count = sorted.shape()[0];
  const auto number = [&](std::int64_t of) { return Graph::current().constant(static_cast<double>(of), DType::int32); };
  Value found = ops::full(x.shape(), 0, DType::int32);
  if (count == 0) return found;
  // A binary search: each step decides one binary digit of the count.
  for (auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count))); step > 0; step /= 2) {
    const Value next = found + number(step);
    const Value last = ops::take(sorted, ops::minimum(next, number(count)) - number(1));
    const Value is_up_to = ops::logical_and(ops::less_equal(next, number(count)), ops::logical_not(ops::less(x, last)));
    found = ops::where(is_up_to, next, found);
  }
  return found;
}

}  // namespace etude::categories
