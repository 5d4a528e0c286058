#pragma once

#include <memory>
#include <vector>

#include "etude/base/tensor.hpp"
#include "etude/graph/variable.hpp"
#include "etude/training/callback.hpp"

namespace etude {

struct SwapEMAWeightsOptions {
  /// Whether the model also has the averages from the end of each epoch, for later callbacks such as ModelCheckpoint,
  /// until the next epoch begins.
  bool swap_on_epoch = false;

  template <class O = SwapEMAWeightsOptions> static constexpr auto fields() {
    return option_rows(option<&O::swap_on_epoch>(
        "Whether the model has the averages from the end of each epoch until the next one begins."));
  }
};

/// During evaluation and prediction, the model's weights are the averages of an optimizer with use_ema; afterwards the
/// original weights are restored from a copy, also after an exception. Changes of the averages in between are lost.
/// Source: keras/src/callbacks/swap_ema_weights.py.
class SwapEMAWeights : public Callback {
 public:
  using Options = SwapEMAWeightsOptions;
  static constexpr ClassText about{"SwapEMAWeights", "Validates and saves with the moving averages of the weights."};
  explicit SwapEMAWeights(SwapEMAWeightsOptions options = {}) : options_(options) {}

  Needs needs(Hook hook) const override {
    return hook == Hook::train_batch_begin || hook == Hook::train_batch_end ? Needs::nothing : Needs::variables;
  }
  /// All hooks that swap throw Error(state) for an optimizer without use_ema.
  void on_train_begin(Logs&) override { put_weights(); }  // those that an exception in evaluate left
  void on_epoch_begin(int epoch, Logs&) override;
  void on_epoch_end(int epoch, Logs&) override;
  void on_train_end(Logs&) override { forget(); }
  void on_test_begin(Logs&) override { put_averages(); }
  void on_test_end(Logs&) override { put_weights(); }
  void on_predict_begin(Logs&) override { put_averages(); }
  void on_predict_end(Logs&) override { put_weights(); }
  void release() noexcept override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  void put_averages();
  void put_weights();
  void forget();

  SwapEMAWeightsOptions options_;
  /// While the model has the averages: its trained variables, and their original values.
  std::vector<Variable> variables_;
  std::vector<Tensor> weights_;
};

namespace callbacks {

inline constexpr Factory<SwapEMAWeights> swap_ema_weights;

}  // namespace callbacks
}  // namespace etude
