#pragma once

#include <cstdint>

#include "etude/base/detail/checked.hpp"
#include "etude/graph/detail/loop.hpp"
#include "etude/graph/detail/node.hpp"

/// The rows of entries that hold the Values of a loop.
namespace etude {

/// The bytes of one entry in the row of a loop's Value.
inline std::int64_t loop_entry_bytes(const Loop& loop, NodeId node) {
  const Node& of = loop.body.node(node);
  return checked::multiply(of.shape.size(), static_cast<std::int64_t>(size_of(of.dtype)), "scan");
}
/// The entry of a carried Value's row that a step reads, and the entry that it writes, relative to the number of the
/// step.
inline std::int64_t loop_read_shift(const Loop& loop) { return loop.reverse ? 1 : 0; }
inline std::int64_t loop_write_shift(const Loop& loop) { return loop.reverse ? 0 : 1; }

}  // namespace etude
