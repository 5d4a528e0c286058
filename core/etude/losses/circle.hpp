#pragma once

#include "etude/losses/loss.hpp"

namespace etude::losses {

struct CircleOptions {
  double gamma = 80;
  double margin = 0.4;
  bool remove_diagonal = true;
  std::string reduction = "sum_over_batch_size";
  std::string name = "circle", dtype = {};
  template <class O = CircleOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::gamma>("Scale of the similarities."),
        option<&O::margin>("Largest cosine distance of a good pair of one class; 1 - margin is the smallest "
                           "of a good pair of two classes."),
        option<&O::remove_diagonal>("Whether a sample and itself are no pair."), loss_fields<O>());
  }
};

/// softplus(log sum exp(gamma (margin + d) (d - margin)) + log sum exp(gamma (1 + margin - d) (1 - margin - d))) for
/// the cosine distances d >= 0 of a sample to the samples of its class, in the first sum, and to all others, in the
/// second. y_true: integers [batch] or [batch, 1]; y_pred [batch, features] of length 1. With several replicas the
/// samples of one replica are compared. Samples with a loss of 0, such as the only one of its class, do not count in
/// the mean. Throws Error(shape) for other shapes, Error(value) unless gamma and margin are finite numbers of 0
/// or more. Source: https://arxiv.org/abs/2002.10857; keras/src/losses/losses.py.
struct Circle {
  static constexpr ClassText about{
      "Circle", "Draws embeddings of one class together, and those of different classes apart, for integer labels."};
  static LossPtr make(const CircleOptions& options);
};
inline constexpr Factory<Circle> circle;

}  // namespace etude::losses
