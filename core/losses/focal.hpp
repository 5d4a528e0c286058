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
  std::string name = "binary_focal_crossentropy";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("apply_class_balancing", self.apply_class_balancing);
    visit("alpha", self.alpha);
    visit("gamma", self.gamma);
    visit("from_logits", self.from_logits);
    visit("label_smoothing", self.label_smoothing);
    visit("axis", self.axis);
    visit("reduction", self.reduction);
    visit("name", self.name);
  }
};
struct CategoricalFocalCrossentropyOptions {
  double alpha = 0.25;
  double gamma = 2;
  bool from_logits = false;
  double label_smoothing = 0;
  std::ptrdiff_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_focal_crossentropy";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("alpha", self.alpha);
    visit("gamma", self.gamma);
    visit("from_logits", self.from_logits);
    visit("label_smoothing", self.label_smoothing);
    visit("axis", self.axis);
    visit("reduction", self.reduction);
    visit("name", self.name);
  }
};
struct CategoricalGeneralizedCrossEntropyOptions {
  double q = 0.5;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_generalized_cross_entropy";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("q", self.q);
    visit("reduction", self.reduction);
    visit("name", self.name);
  }
};

// Crossentropies in which samples that are predicted well count less. Source: https://arxiv.org/abs/1708.02002.

/// The binary crossentropy times (1 - p)^gamma where t is 1 and p^gamma where t is 0, mean over `axis`; with
/// apply_class_balancing times alpha and 1 - alpha too.
LossPtr binary_focal_crossentropy(BinaryFocalCrossentropyOptions options = {});
/// -sum(alpha (1 - p)^gamma t log p) along `axis`.
LossPtr categorical_focal_crossentropy(CategoricalFocalCrossentropyOptions options = {});
/// (1 - p^q) / q for the probability p of the class that y_true names: integers [batch, ..], y_pred [batch, ..,
/// classes]. Throws Error(value) unless 0 < q < 1. Source: https://arxiv.org/abs/1805.07836.
LossPtr categorical_generalized_cross_entropy(CategoricalGeneralizedCrossEntropyOptions options = {});

}  // namespace etude::losses
