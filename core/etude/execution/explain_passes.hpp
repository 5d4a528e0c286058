#pragma once

#include <string>

#include "etude/execution/compile.hpp"

namespace etude {

/// The result of each pass of compile(), as text, for work on the passes. Nodes are "%3", groups "#2", blocks "&1".
std::string explain_passes(const Graph& graph, const Wanted& wanted, const Device& device);

}  // namespace etude
