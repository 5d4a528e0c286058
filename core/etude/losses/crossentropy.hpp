#pragma once

#include <optional>

#include "etude/losses/loss.hpp"

namespace etude::losses {

struct BinaryCrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  std::ptrdiff_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "binary_crossentropy", dtype = {};
  template <class O = BinaryCrossentropyOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::from_logits>("Whether predictions are logits rather than probabilities."),
        option<&O::label_smoothing>("How far targets are moved towards the uniform distribution, from 0 to 1."),
        option<&O::axis>("Axis along which it is computed."), loss_fields<O>());
  }
};
struct CategoricalCrossentropyOptions {
  bool from_logits = false;
  double label_smoothing = 0;
  std::ptrdiff_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "categorical_crossentropy", dtype = {};
  template <class O = CategoricalCrossentropyOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::from_logits>("Whether predictions are logits rather than probabilities."),
        option<&O::label_smoothing>("How far targets are moved towards the uniform distribution, from 0 to 1."),
        option<&O::axis>("Axis along which it is computed."), loss_fields<O>());
  }
};
struct SparseCategoricalCrossentropyOptions {
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class = {};
  std::string reduction = "sum_over_batch_size";
  std::ptrdiff_t axis = -1;
  std::string name = "sparse_categorical_crossentropy", dtype = {};
  template <class O = SparseCategoricalCrossentropyOptions> static constexpr auto fields() {
    return option_rows(option<&O::from_logits>("Whether predictions are logits rather than probabilities."),
                       option<&O::ignore_class>("A class of samples that are ignored."),
                       option<&O::axis>("Axis along which it is computed."), loss_fields<O>());
  }
};

/// -(t log p + (1 - t) log(1 - p)), mean over `axis`; p clipped to [e, 1 - e], e = epsilon(), unless from logits (R-7,
///
struct BinaryCrossentropy {
  static constexpr ClassText about{
      .name = "BinaryCrossentropy", .text = "Crossentropy of two classes, for targets from 0 to 1.", .aliases = "bce"};
  static LossPtr make(const BinaryCrossentropyOptions& options);
};
inline constexpr Factory<BinaryCrossentropy> binary_crossentropy;

/// -sum(t log p) along `axis`; p divided by its sum, then clipped, unless from logits.
struct CategoricalCrossentropy {
  static constexpr ClassText about{"CategoricalCrossentropy", "Crossentropy of one-hot targets."};
  static LossPtr make(const CategoricalCrossentropyOptions& options);
};
inline constexpr Factory<CategoricalCrossentropy> categorical_crossentropy;

/// The same for integer targets of the predictions' shape without `axis`, or with a last axis of 1 after it.
struct SparseCategoricalCrossentropy {
  static constexpr ClassText about{"SparseCategoricalCrossentropy", "Crossentropy of integer class ids."};
  static LossPtr make(const SparseCategoricalCrossentropyOptions& options);
};
inline constexpr Factory<SparseCategoricalCrossentropy> sparse_categorical_crossentropy;

}  // namespace etude::losses
