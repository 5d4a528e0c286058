#pragma once

/// Private to core/metrics.
#include "etude/metrics/metric.hpp"

namespace etude::metrics {

/// The same options, with the class's name unless they have one.
MetricOptions named(MetricOptions options, const char* name);

}  // namespace etude::metrics
