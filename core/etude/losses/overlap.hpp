#pragma once

#include "etude/base/integers.hpp"
#include "etude/losses/loss.hpp"

namespace etude::losses {

struct DiceOptions {
  std::string reduction = "sum_over_batch_size";
  std::string name = "dice";
  Integers axis = {};
  std::string dtype = {};
  template <class O = DiceOptions> static constexpr auto fields() {
    return option_rows(loss_fields<O>(), option<&O::axis>("Axes of the sums. Default: all, including the batch."));
  }
};
struct TverskyOptions {
  double alpha = 0.5;
  double beta = 0.5;
  std::string reduction = "sum_over_batch_size";
  std::string name = "tversky";
  Integers axis = {};
  std::string dtype = {};
  template <class O = TverskyOptions> static constexpr auto fields() {
    return option_rows(option<&O::alpha>("Weight of false positives."), option<&O::beta>("Weight of false negatives."),
                       loss_fields<O>(), option<&O::axis>("Axes of the sums. Default: all, including the batch."));
  }
};

// Measures of overlap between two sets, summed over `axis`, or over the whole batch if it is empty.

/// 1 - 2 sum(t p) / (sum(t) + sum(p) + epsilon()).
struct Dice {
  static constexpr ClassText about{"Dice", "1 - the Dice coefficient of two sets."};
  static LossPtr make(const DiceOptions& options);
};
inline constexpr Factory<Dice> dice;

/// 1 - i / (i + alpha sum((1 - t) p) + beta sum(t (1 - p)) + epsilon()) with i = sum(t p). alpha is the weight of false
/// positives, beta of false negatives. Source: https://arxiv.org/abs/1706.05721.
struct Tversky {
  static constexpr ClassText about{
      "Tversky", "1 - the Tversky index of two sets, with weights for false positives and false negatives."};
  static LossPtr make(const TverskyOptions& options);
};
inline constexpr Factory<Tversky> tversky;

}  // namespace etude::losses
