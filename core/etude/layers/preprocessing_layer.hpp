#pragma once

#include "etude/base/tensor.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

/// A layer that may learn what it needs from data before it is used: by `adapt`, outside of training. What it learned
/// is saved with the model. Source: keras/src/layers/preprocessing/.
class PreprocessingLayer : public Layer {
 public:
  using Product = PreprocessingLayer;

  /// Replaces what it has learned by what `data` [rows, ..] shows. Throws Error(state) if its options say it already.
  void adapt(const Tensor& data);
  /// The same for batches, such as those of a Dataset, of which the first input counts. An element of one axis is one
  /// row.
  template <class Batches>
    requires requires(const Batches& batches) { (*batches.begin()).x.front(); }
  void adapt(const Batches& batches) {
    reset_state();
    for (const auto& batch : batches) add_batch(batch.x.front());
    finalize_state();
  }

  /// The first step of adapt: forgets all data. Throws as adapt does.
  virtual void reset_state() = 0;
  /// The second step, for each batch: counts its numbers.
  virtual void update_state(const Tensor& batch) = 0;
  /// The last step: sets the weights. Throws Error(data) if there was no data.
  virtual void finalize_state() = 0;
  /// update_state for an element of a dataset, which may be a single row.
  void add_batch(const Tensor& element);

 protected:
  using Layer::Layer;
};

}  // namespace etude
