#pragma once

#include "etude/losses/loss.hpp"

namespace etude::losses {

// Targets are -1 or 1; where all targets of a batch are 0 or 1, each 0 counts as -1.

/// mean(max(1 - t p, 0)) over the last axis.
LossPtr hinge(LossOptions options = {});
/// mean(max(1 - t p, 0)²) over the last axis.
LossPtr squared_hinge(LossOptions options = {});
/// max(1 + max((1 - t) p) - sum(t p), 0) over the last axis, of targets that are 0 or 1.
LossPtr categorical_hinge(LossOptions options = {});

}  // namespace etude::losses
