#pragma once

#include <string>

#include "etude/graph/graph.hpp"

namespace etude {

/// What the second graph has where it first differs from the first one, in words that name the op; empty where both
/// compute the same.
std::string difference(const Graph& first, const Graph& second);

}  // namespace etude
