#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "etude/graph/graph.hpp"

/// Sorting along an axis, and what follows from it. NaN counts as the largest number. Equal elements keep their order.
namespace etude::ops {

/// The int32 indices that sort x along `axis`. Throws Error(dtype) for bytes and booleans.
Value argsort(Value x, std::ptrdiff_t axis = -1, bool descending = false);
/// x, sorted along `axis`. Its gradient is that of the chosen elements.
Value sort(Value x, std::ptrdiff_t axis = -1);
/// The k largest elements along the last axis, the largest first, and their int32 indices. Throws Error(value) unless k
/// is between 1 and the extent of that axis.
std::pair<Value, Value> top_k(Value x, std::int64_t k);
/// The values below which the fractions q of the elements along `axes` are, interpolated: [number of fractions, ..], or
/// [..] for one of them in quantile(x, 0.5). Without `axes`: of all elements. NaN if an element is NaN. Throws
/// Error(value) for fractions outside of [0, 1], Error(shape) without an element.
Value quantile(Value x, const std::vector<double>& q, const std::vector<std::ptrdiff_t>& axes = {},
               bool keepdims = false);
Value quantile(Value x, double q, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// The middle element along `axes`, or the mean of the middle two: quantile(x, 0.5).
Value median(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);

}  // namespace etude::ops
