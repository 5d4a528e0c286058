#pragma once

#include <functional>

#include "etude/saving/hdf5/detail/hdf5_object.hpp"

namespace etude::hdf5 {

/// Links or attributes that are stored in a heap instead of in the object's header, because they are many.
enum class DenseKind : std::uint8_t { links, attributes };

/// Calls `visit` for each message that a link info or attribute info message refers to. `owner` is the object.
void visit_dense(File& file, std::uint64_t owner, Bytes info, DenseKind kind,
                 const std::function<void(const Bytes&)>& visit);

}  // namespace etude::hdf5
