#pragma once

#include "etude/losses/loss.hpp"

namespace etude::losses {

struct BinaryFocalCrossentropyOptions {
  bool apply_class_balancing = false;
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  std::ptrdiff_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "binary_focal_crossentropy", dtype = {};
  template <class O = BinaryFocalCrossentropyOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::apply_class_balancing>("Whether the classes are weighted by alpha and 1 - alpha."),
        option<&O::alpha>("Weight of class 1."),
        option<&O::gamma>("Exponent that reduces the weight of well predicted samples."),
        option<&O::from_logits>("Whether predictions are logits rather than probabilities."),
        option<&O::label_smoothing>("How far targets are moved towards the uniform distribution, from 0 to 1."),
        option<&O::axis>("Axis along which it is computed."), loss_fields<O>());
  }
};
struct CategoricalFocalCrossentropyOptions {
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  std::ptrdiff_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_focal_crossentropy", dtype = {};
  template <class O = CategoricalFocalCrossentropyOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::alpha>("Weight of all classes."),
        option<&O::gamma>("Exponent that reduces the weight of well predicted samples."),
        option<&O::from_logits>("Whether predictions are logits rather than probabilities."),
        option<&O::label_smoothing>("How far targets are moved towards the uniform distribution, from 0 to 1."),
        option<&O::axis>("Axis along which it is computed."), loss_fields<O>());
  }
};
struct CategoricalGeneralizedCrossEntropyOptions {
  double q = 0.5;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_generalized_cross_entropy", dtype = {};
  template <class O = CategoricalGeneralizedCrossEntropyOptions> static constexpr auto fields() {
    return option_rows(option<&O::q>("Near 0: crossentropy; near 1: mean absolute error."), loss_fields<O>());
  }
};

// Crossentropies with less weight for well predicted samples. Source: https://arxiv.org/abs/1708.02002.

/// The binary crossentropy times (1 - p)^gamma where t is 1 and p^gamma where t is 0, mean over `axis`; with
/// apply_class_balancing times alpha and 1 - alpha too.
struct BinaryFocalCrossentropy {
  static constexpr ClassText about{"BinaryFocalCrossentropy",
                                   "Binary crossentropy with less weight for well predicted samples."};
  static LossPtr make(const BinaryFocalCrossentropyOptions& options);
};
inline constexpr Factory<BinaryFocalCrossentropy> binary_focal_crossentropy;

/// -sum(alpha (1 - p)^gamma t log p) along `axis`.
struct CategoricalFocalCrossentropy {
  static constexpr ClassText about{"CategoricalFocalCrossentropy",
                                   "Categorical crossentropy with less weight for well predicted samples."};
  static LossPtr make(const CategoricalFocalCrossentropyOptions& options);
};
inline constexpr Factory<CategoricalFocalCrossentropy> categorical_focal_crossentropy;

/// (1 - p^q) / q for the probability p of the class y_true: integers [batch, ..], y_pred [batch, .., classes]. Throws
/// Error(value) unless 0 < q < 1. Source: https://arxiv.org/abs/1805.07836.
struct CategoricalGeneralizedCrossEntropy {
  static constexpr ClassText about{"CategoricalGeneralizedCrossEntropy",
                                   "(1 - p^q) / q of the probability p of the class: robust to wrong labels."};
  static LossPtr make(const CategoricalGeneralizedCrossEntropyOptions& options);
};
inline constexpr Factory<CategoricalGeneralizedCrossEntropy> categorical_generalized_cross_entropy;

}  // namespace etude::losses
