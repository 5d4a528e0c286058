#pragma once

/// Private to core/metrics.
#include "etude/metrics/metric.hpp"

namespace etude::metrics {

/// The name of a metric: that of its options, or else `name`.
inline std::string named(const MetricOptions& options, const char* name) {
  return options.name.empty() ? name : options.name;
}

}  // namespace etude::metrics
