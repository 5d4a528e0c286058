#include "etude/ops/products.hpp"

#include <string>

#include "etude/base/error.hpp"
#include "etude/ops/einsum.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::ops {
namespace {

std::ptrdiff_t rank_of(Value x) { return static_cast<std::ptrdiff_t>(x.shape().rank()); }
bool has_scalar(Value a, Value b) { return rank_of(a) == 0 || rank_of(b) == 0; }

/// The product of a and b, summed over these axes of them.
Value contracted(Value a, Value b, const Integers& of_a, const Integers& of_b, const char* where) {
  const auto place = [where](Value x, std::int64_t axis) {
    return x.shape().axis(static_cast<std::ptrdiff_t>(axis), where);
  };
  std::string left, right, out;
  for (std::ptrdiff_t i = 0; i < rank_of(a); ++i) left += static_cast<char>('a' + i);
  for (std::ptrdiff_t i = 0; i < rank_of(b); ++i) right += static_cast<char>('A' + i);
  for (std::size_t i = 0; i < of_a.all().size(); ++i) right[place(b, of_b.all()[i])] = left[place(a, of_a.all()[i])];
  for (const char axis : left + right)
    if (left.find(axis) == std::string::npos || right.find(axis) == std::string::npos) out += axis;
  return einsum(left + ',' + right + "->" + out, a, b);
}

}  // namespace

Value dot(Value a, Value b) {
  return has_scalar(a, b) ? a * b : contracted(a, b, -1, rank_of(b) == 1 ? -1 : -2, "dot");
}
Value vdot(Value a, Value b) {
  check(a.shape().size() == b.shape().size(), ErrorKind::shape, "vdot", "shapes ", a.shape(), " and ", b.shape(),
        " - expected as many elements - check them.");
  return sum(reshape(a, {-1}) * reshape(b, {-1}));
}
Value inner(Value a, Value b) { return has_scalar(a, b) ? a * b : contracted(a, b, -1, -1, "inner"); }
Value outer(Value a, Value b) { return reshape(a, {-1, 1}) * reshape(b, {1, -1}); }

Value tensordot(Value a, Value b, const std::vector<Integers>& axes) {
  if (axes.size() == 2) {
    check(axes[0].all().size() == axes[1].all().size(), ErrorKind::value, "tensordot", axes[0].all().size(),
          " axes of the first operand and ", axes[1].all().size(),
          " of the second - expected as many - check the axes.");
    return contracted(a, b, axes[0], axes[1], "tensordot");
  }
  const bool is_count = axes.size() == 1 && axes[0].all().size() == 1;
  const std::int64_t count = is_count ? axes[0].all()[0] : -1;
  check(count >= 0 && count <= rank_of(a) && count <= rank_of(b), ErrorKind::value, "tensordot",
        "axes = ", is_count ? std::to_string(count) : std::to_string(axes.size()) + " lists", " of operands of ",
        rank_of(a), " and ", rank_of(b), " axes - expected a number of axes that both have, or two lists - set axes.");
  std::vector<std::int64_t> of_a, of_b;
  for (std::int64_t i = 0; i < count; ++i) {
    of_a.push_back(rank_of(a) - count + i);
    of_b.push_back(i);
  }
  return contracted(a, b, of_a, of_b, "tensordot");
}

}  // namespace etude::ops
