#pragma once

#include "etude/execution/lowering.hpp"

namespace etude {

/// The instruction that computes the output of attention.
Instruction lower_attention(const AttentionPattern& pattern, const Site& site);
/// The instruction that computes its gradients.
Instruction lower_attention_gradient(const AttentionPattern& pattern, const Site& site);

}  // namespace etude
