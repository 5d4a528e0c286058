#pragma once

#include <optional>

#include "etude/base/tensor.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

/// A layer whose state may be computed from data before it is used: by `adapt`, outside of training. The state is saved
/// with the model. Source: keras/src/layers/preprocessing/.
class PreprocessingLayer : public Layer {
 public:
  using Product = PreprocessingLayer;

  /// Computes the state from `data` [rows, ..] alone; [rows] is like [rows, 1]. Throws Error(state) if the options set
  /// the state.
  void adapt(const Tensor& data);
  /// The same for batches, such as those of a Dataset. Only their first input is used. An element with one axis is one
  /// row.
  template <class Batches>
    requires requires(const Batches& batches) { (*batches.begin()).x.front(); }
  void adapt(const Batches& batches) {
    reset_state();
    for (const auto& batch : batches) add_batch(batch.x.front());
    finalize_state();
  }

  /// Whether data sets the state: not if the options do.
  virtual bool adapts() const = 0;
  /// The first step of adapt: discards all data. Throws as adapt does.
  virtual void reset_state() = 0;
  /// The second step, for each batch: adds its numbers.
  virtual void update_state(const Tensor& batch) = 0;
  /// The last step: sets the state. Throws Error(data) if there was no data.
  virtual void finalize_state() = 0;
  /// update_state for an element of a dataset, which may be a single row.
  void add_batch(const Tensor& element);

  /// The weights of a vocabulary's indices, for "tf_idf"; none without them.
  virtual std::optional<Tensor> idf_weights() const { return {}; }

 protected:
  using Layer::Layer;
};

}  // namespace etude
