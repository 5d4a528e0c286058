#pragma once

/// Private to core/metrics.
#include "etude/metrics/metric.hpp"

namespace etude::metrics {

/// The same options, with the class's name unless they have one.
inline MetricOptions named(MetricOptions options, const char* name) {
  if (options.name.empty()) options.name = name;
  return options;
}

}  // namespace etude::metrics
