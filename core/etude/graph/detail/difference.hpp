#pragma once

#include <string>

#include "etude/graph/graph.hpp"

namespace etude {

/// Describes the first difference of the second graph from the first, with the name of the op; empty if both compute
/// the same.
std::string difference(const Graph& first, const Graph& second);

}  // namespace etude
