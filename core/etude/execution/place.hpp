#pragma once

#include "etude/execution/device.hpp"
#include "etude/execution/place_loop.hpp"
#include "etude/execution/placement.hpp"

namespace etude {

/// The seventh pass: finds the memory that each instruction writes to, its lifetime and its offset.
Placement place(const Scheduled& scheduled, const Device& device, const Replica& replica,
                const CompileBody& compile_body);

}  // namespace etude
