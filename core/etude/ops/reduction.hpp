#pragma once

#include <cstddef>
#include <vector>

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// The sum over `axes`, or over all axes if none are given. They are removed unless keepdims.
Value sum(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// The mean over `axes`.
Value mean(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// x summed over the axes along which broadcasting would repeat `shape` to x's shape: broadcast_to's transpose.
Value sum_to(Value x, const Shape& shape);
/// The sums of x along `axis`, from its first entry up to each one. `exclusive`: each without its own entry, so that
/// the first is 0. `reverse`: from the last entry back to each one.
Value cumsum(Value x, std::ptrdiff_t axis, bool exclusive = false, bool reverse = false);
/// The maximum over `axes`.
Value max(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// The int32 index of the largest element along the last axis; the lowest index of equals.
Value argmax(Value x);
/// Labels [..] -> [.., depth] of `dtype`.
Value one_hot(Value labels, std::int64_t depth, DType dtype = floatx());

}  // namespace etude::ops
