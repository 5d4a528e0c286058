#pragma once

#include "etude/execution/device.hpp"
#include "etude/execution/grouping.hpp"

namespace etude {

/// The third pass: finds the nodes that one instruction computes together.
Grouping form_groups(const Dataflow& flow, const Device& device);

}  // namespace etude
