#pragma once

#include "etude/losses/loss.hpp"

namespace etude::losses {

/// Connectionist temporal classification: -log of the probability that the steps spell the labels, each label once or
/// repeatedly, with blanks, class 0, in between. y_true: integers [batch, labels], from 1 to classes - 1, and 0 after
/// the last label; y_pred: logits [batch, steps, classes]. Masked steps do not count. If there are too few steps for
/// the labels, the loss is above 1e5. Throws Error(shape) for other shapes and for no steps. Source: Graves et
/// al., 2006; keras/src/backend/jax/nn.py.
struct CTC {
  static constexpr ClassText about{"CTC", "Loss of a sequence of labels without positions, for logits of each step."};
  static LossPtr make(const LossOptions& options);
};
inline constexpr Factory<CTC> ctc;

}  // namespace etude::losses
