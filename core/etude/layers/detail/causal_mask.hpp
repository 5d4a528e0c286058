#pragma once

#include <cstdint>

#include "etude/graph/graph.hpp"

namespace etude {

/// Within a trace, [steps, source steps]: true where the source step is not later.
Value causal_mask(std::int64_t steps, std::int64_t sources);
/// Within a trace, [steps, source steps]: true where the source step is less than `width` steps away.
Value band_mask(std::int64_t steps, std::int64_t sources, std::int64_t width);

}  // namespace etude
