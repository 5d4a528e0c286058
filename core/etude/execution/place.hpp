#pragma once

#include "etude/execution/device.hpp"
#include "etude/execution/place_loop.hpp"
#include "etude/execution/placement.hpp"

namespace etude {

/// The fifth pass: which memory an instruction writes to, from when to when it is needed, and at which offset.
Placement place(const Scheduled& scheduled, const Device& device, const Replica& replica,
                const CompileBody& compile_body);

}  // namespace etude
