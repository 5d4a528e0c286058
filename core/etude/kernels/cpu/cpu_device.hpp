#pragma once

#include "etude/execution/device.hpp"

namespace etude {

/// The CPU.
Device& cpu_device();

}  // namespace etude
