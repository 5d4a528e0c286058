#pragma once

#include <string>

#include "etude/execution/compile.hpp"

namespace etude {

/// How a graph is compiled, as text: what each pass of compile() makes of it, for those who work on a pass. Nodes are
/// "%3", groups "#2", blocks "&1".
std::string explain_passes(const Graph& graph, const Wanted& wanted, const Device& device);

}  // namespace etude
