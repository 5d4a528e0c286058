#pragma once

#include "etude/losses/loss.hpp"

namespace etude::losses {

/// sum(t log(t / p)) over the last axis, t and p within [1e-7, 1].
LossPtr kl_divergence(LossOptions options = {});
/// mean(p - t log(p + 1e-7)) over the last axis.
LossPtr poisson(LossOptions options = {});

}  // namespace etude::losses
