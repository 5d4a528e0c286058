#pragma once

#include "etude/execution/device.hpp"

namespace etude {

/// The processor.
Device& cpu_device();

}  // namespace etude
