#pragma once

#include <cstdint>

namespace etude {

/// The number of a node in its graph.
using NodeId = std::int32_t;

}  // namespace etude
