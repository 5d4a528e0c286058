#pragma once

#include <cstddef>
#include <vector>

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// Sum over `axes`, which go away unless keepdims; over all of them when none is named.
Value sum(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// Mean over `axes`.
Value mean(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// Largest element over `axes`.
Value max(Value x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// int32 index of the largest element along the last axis; the lowest of equals.
Value argmax(Value x);
/// Labels [..] -> [.., depth] of `dtype`.
Value one_hot(Value labels, std::int64_t depth, DType dtype = floatx());

}  // namespace etude::ops
