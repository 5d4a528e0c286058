#pragma once

#include "etude/losses/loss.hpp"

namespace etude::losses {

/// sum(t log(t / p)) over the last axis, t and p within [epsilon(), 1].
struct KLDivergence {
  static constexpr ClassText about{.name = "KLDivergence",
                                   .text = "Sum of y_true · log(y_true / y_pred) over the last axis.",
                                   .aliases = "kullback_leibler_divergence kld"};
  static LossPtr make(const LossOptions& options);
};
inline constexpr Factory<KLDivergence> kl_divergence;

/// mean(p - t log(p + epsilon())) over the last axis.
struct Poisson {
  static constexpr ClassText about{"Poisson", "Mean of y_pred - y_true · log(y_pred) over the last axis."};
  static LossPtr make(const LossOptions& options);
};
inline constexpr Factory<Poisson> poisson;

}  // namespace etude::losses
