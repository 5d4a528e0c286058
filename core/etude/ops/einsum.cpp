#include "etude/ops/einsum.hpp"

#include <algorithm>
#include <vector>

#include "etude/base/error.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

namespace {

constexpr std::string_view ellipsis = "...";

bool has(std::string_view axes, char axis) { return axes.find(axis) != std::string_view::npos; }

/// The name of an axis that "..." stands for, counted from the last.
char unnamed(std::size_t i) { return static_cast<char>('0' + i); }

/// The names of all axes of an operand of `rank` axes, or of a result.
std::string named(std::string axes, std::size_t unnamed_count) {
  const std::size_t at = axes.find(ellipsis);
  if (at == std::string::npos) return axes;
  std::string names;
  for (std::size_t i = unnamed_count; i > 0; --i) names += unnamed(i - 1);
  return axes.replace(at, ellipsis.size(), names);
}

/// x with its axes in another order.
Value ordered(Value x, std::string_view axes, std::string_view order) {
  std::vector<std::uint8_t> places;
  for (const char axis : order) places.push_back(static_cast<std::uint8_t>(axes.find(axis)));
  return ops::transpose(x, places);
}

}  // namespace

EinsumEquation einsum_equation(std::string_view equation, std::string_view where) {
  std::string text;
  std::ranges::copy_if(equation, std::back_inserter(text), [](char c) { return c != ' '; });
  const std::size_t comma = text.find(','), arrow = text.find("->");
  const bool divided = comma != std::string::npos && arrow != std::string::npos && comma < arrow;
  EinsumEquation result;
  if (divided) result = {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  const auto is_valid = [](std::string_view axes) {
    const std::size_t at = axes.find(ellipsis);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (at != std::string_view::npos && i >= at && i < at + ellipsis.size()) continue;
      const char c = axes[i];
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) || std::ranges::count(axes, c) > 1) return false;
    }
    return true;
  };
  const bool known =
      divided && std::ranges::all_of(result.out, [&](char axis) { return has(result.a, axis) || has(result.b, axis); });
  check(known && is_valid(result.a) && is_valid(result.b) && is_valid(result.out), ErrorKind::value, where,
        "equation = \"", equation, "\" - expected the axes of two operands and of the result, each a letter that an ",
        "operand has once, such as \"abc,cd->abd\" - set the equation.");
  return result;
}

namespace ops {

Value einsum(std::string_view equation, Value a, Value b) {
  const EinsumEquation e = einsum_equation(equation, "einsum");
  const auto unnamed_of = [&](const std::string& axes, const Shape& shape) -> std::size_t {
    const bool elided = axes.find(ellipsis) != std::string::npos;
    const std::size_t count = axes.size() - (elided ? ellipsis.size() : 0);
    check(elided ? shape.rank() >= count : shape.rank() == count, ErrorKind::shape, "einsum", "an operand of shape ",
          shape, " for \"", axes, "\" of \"", equation, "\" - expected as many axes - check the operands.");
    return shape.rank() - count;
  };
  const std::size_t of_a = unnamed_of(e.a, a.shape()), of_b = unnamed_of(e.b, b.shape());
  std::string a_axes = named(e.a, of_a), b_axes = named(e.b, of_b), batch, summed, free_a, free_b;
  const std::string out = named(e.out, std::max(of_a, of_b));
  for (const char axis : out)
    if (has(a_axes, axis) && has(b_axes, axis)) batch += axis;
  for (const char axis : a_axes)
    if (!has(out, axis) && has(b_axes, axis)) summed += axis;
  for (const char axis : batch + summed) {
    const std::int64_t in_a = a.shape()[static_cast<std::ptrdiff_t>(a_axes.find(axis))];
    const std::int64_t in_b = b.shape()[static_cast<std::ptrdiff_t>(b_axes.find(axis))];
    check(in_a == in_b, ErrorKind::shape, "einsum", "operands of shapes ", a.shape(), " and ", b.shape(), " for \"",
          equation, "\" - expected equal extents of axes of one name - check the operands.");
  }
  // Axes that one operand alone has, and the result has not.
  const auto reduce = [&](Value x, std::string& axes, const std::string& other) {
    std::vector<std::ptrdiff_t> alone;
    std::string left;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (!has(out, axes[i]) && !has(other, axes[i]))
        alone.push_back(static_cast<std::ptrdiff_t>(i));
      else
        left += axes[i];
    axes = left;
    return alone.empty() ? x : ops::sum(x, alone);
  };
  const std::string all_of_a = a_axes;
  a = reduce(a, a_axes, b_axes);
  b = reduce(b, b_axes, all_of_a);
  for (const char axis : a_axes)
    if (!has(batch, axis) && !has(summed, axis)) free_a += axis;
  for (const char axis : b_axes)
    if (!has(batch, axis) && !has(summed, axis)) free_b += axis;
  Shape shape;
  const auto size = [&](Value x, const std::string& names, const std::string& some, bool of_result) {
    std::int64_t elements = 1;
    for (const char axis : some) {
      const std::int64_t extent = x.shape()[static_cast<std::ptrdiff_t>(names.find(axis))];
      elements *= extent;
      if (of_result) shape.append(extent);
    }
    return elements;
  };
  const std::int64_t batches = size(a, a_axes, batch, true), rows = size(a, a_axes, free_a, true),
                     columns = size(b, b_axes, free_b, true), terms = size(a, a_axes, summed, false);
  const Value left = ordered(a, a_axes, batch + free_a + summed), right = ordered(b, b_axes, batch + summed + free_b);
  const Value product =
      batch.empty()
          ? ops::matmul(ops::reshape(left, {rows, terms}), ops::reshape(right, {terms, columns}))
          : ops::matmul(ops::reshape(left, {batches, rows, terms}), ops::reshape(right, {batches, terms, columns}));
  return ordered(ops::reshape(product, shape), batch + free_a + free_b, out);
}

}  // namespace ops
}  // namespace etude
