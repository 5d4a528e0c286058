#pragma once

#include <optional>

#include "etude/losses/loss.hpp"

namespace etude::losses {

struct BinaryCrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  std::ptrdiff_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "binary_crossentropy";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("from_logits", self.from_logits);
    visit("label_smoothing", self.label_smoothing);
    visit("axis", self.axis);
    visit("reduction", self.reduction);
    visit("name", self.name);
  }
};
struct CategoricalCrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  std::ptrdiff_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_crossentropy";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("from_logits", self.from_logits);
    visit("label_smoothing", self.label_smoothing);
    visit("axis", self.axis);
    visit("reduction", self.reduction);
    visit("name", self.name);
  }
};
struct SparseCategoricalCrossentropyOptions {
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class = {};
  std::ptrdiff_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "sparse_categorical_crossentropy";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("from_logits", self.from_logits);
    visit("ignore_class", self.ignore_class);
    visit("axis", self.axis);
    visit("reduction", self.reduction);
    visit("name", self.name);
  }
};

/// -(t log p + (1 - t) log(1 - p)), mean over `axis`; p clipped to [1e-7, 1 - 1e-7] unless from logits (R-7, R-8).
LossPtr binary_crossentropy(BinaryCrossentropyOptions options = {});
/// -sum(t log p) along `axis`; p divided by its sum, then clipped, unless from logits.
LossPtr categorical_crossentropy(CategoricalCrossentropyOptions options = {});
/// The same for integer targets of the predictions' shape without `axis`, or with a last axis of 1 behind it.
LossPtr sparse_categorical_crossentropy(SparseCategoricalCrossentropyOptions options = {});

}  // namespace etude::losses
