#pragma once

/// All metrics.
#include "etude/metrics/accuracy.hpp"
#include "etude/metrics/of_loss.hpp"
