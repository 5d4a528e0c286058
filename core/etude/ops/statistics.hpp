#pragma once

#include <cstddef>
#include <vector>

#include "etude/base/backend.hpp"
#include "etude/graph/graph.hpp"

/// Reductions that are composed of other ops. Without `axes` they reduce all axes. The axes are removed unless
/// keepdims. Means and roots of integers are floats.
namespace etude::ops {

/// The minimum over `axes`. Throws Error(shape) if there is no element.
Value min(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// The product over `axes`.
Value prod(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// Whether an element is not 0.
Value any(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// Whether no element is 0.
Value all(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// The int32 number of elements that are not 0.
Value count_nonzero(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// The mean of the squared distances from the mean: the biased variance.
Value var(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// The standard deviation: the square root of var.
Value std(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// log(sum(exp(x))), without overflow.
Value logsumexp(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// The square root of the sum of squares.
Value norm(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// x divided by its norm along `axis`, which counts as epsilon at least.
Value normalize(Value x, std::ptrdiff_t axis = -1, double epsilon = etude::epsilon());
/// The int32 index of the smallest element along the last axis; the lowest index of equals.
Value argmin(Value x);
/// The differences of neighbours along `axis`, n times.
Value diff(Value x, std::int64_t n = 1, std::ptrdiff_t axis = -1);

}  // namespace etude::ops
