#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// x broadcast to `shape` by NumPy's rule; x itself if it has that shape.
Value broadcast_to(Value x, const Shape& shape);
/// The same elements in another shape. One extent may be -1, and is computed.
Value reshape(Value x, const Shape& shape);
/// A new axis of extent 1 before `axis` (-1: after the last).
Value expand_dims(Value x, std::ptrdiff_t axis);
/// Removes `axis`, whose extent must be 1.
Value squeeze(Value x, std::ptrdiff_t axis);
/// Entries [first, first + count) of `axis`.
Value slice(Value x, std::ptrdiff_t axis, std::int64_t first, std::int64_t count);
/// The entries of `axis` from the last to the first.
Value reverse(Value x, std::ptrdiff_t axis);
/// Concatenates along `axis`, the only axis in which shapes may differ; by default along the first one, as in Keras.
Value concatenate(const std::vector<Value>& x, std::ptrdiff_t axis = 0);
/// x divided along `axis` into `parts` equal parts; by default along the first one, as in Keras.
std::vector<Value> split(Value x, std::int64_t parts, std::ptrdiff_t axis = 0);
/// Axis i of the result is axis order[i] of x; without an order the axes are reversed.
Value transpose(Value x, const std::vector<std::uint8_t>& order = {});

}  // namespace etude::ops
