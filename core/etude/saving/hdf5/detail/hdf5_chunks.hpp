#pragma once

#include "etude/saving/hdf5/detail/hdf5_object.hpp"

namespace etude::hdf5 {

/// The description of the chunks of a dataset, apart from their extents.
struct ChunkIndex {
  /// A tree in layouts of version 3; else as in version 4.
  enum class Kind : std::uint8_t { tree = 0, single = 1, implicit = 2, fixed_array = 3 } kind;
  std::uint64_t at;
  /// Of a single, filtered chunk: its stored size and mask; 0 if it is not filtered.
  std::uint64_t size = 0;
  std::uint32_t mask = 0;
};

/// The chunks of a dataset of `counts` chunks along each axis, each of which has `bytes` bytes before filters. Throws
/// Error(data) for an index that does not have exactly these chunks.
std::vector<Chunk> chunks_of(File& file, std::uint64_t owner, const ChunkIndex& index, const Dataset& dataset,
                             std::uint64_t bytes);

}  // namespace etude::hdf5
