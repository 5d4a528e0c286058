#pragma once

#include "etude/execution/device.hpp"
#include "etude/execution/grouping.hpp"

namespace etude {

/// The second pass: which nodes are computed together.
Grouping form_groups(const Dataflow& flow, const Device& device);

}  // namespace etude
