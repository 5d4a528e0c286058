#pragma once

#include <optional>
#include <string>

#include "etude/layers/recurrent.hpp"

namespace etude {

struct BidirectionalOptions {
  LayerPtr layer = {};
  std::optional<std::string> merge_mode = "concat";
  LayerPtr backward_layer = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = BidirectionalOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::layer>("A recurrent layer, such as LSTM.", Need::required),
        option<&O::merge_mode>("How the results become one: \"concat\", \"sum\", \"mul\" or \"ave\". None: both "
                               "are returned."),
        option<&O::backward_layer>("A recurrent layer that runs the other way. Default: a layer like the first."),
        layer_fields<O>());
  }
};

/// A recurrent layer, and one from the last step to the first: [batch, steps, features] -> [batch, 2 · units] with
/// merge_mode "concat", or [batch, steps, 2 · units] with return_sequences. The result of the second layer is in the
/// order of the steps. With return_state the states follow, those of the first layer before those of the second; called
/// on {x, h, ..} both begin from these. With return_sequences the output of masked steps is 0. Both layers are new,
/// made of the options of the given ones. Throws Error(value) for a layer that is not recurrent, for another
/// merge_mode, for a backward_layer that runs the same way or has other return_sequences or return_state. Source:
/// keras/src/layers/rnn/bidirectional.py; Schuster and Paliwal (1997).
class Bidirectional : public Layer {
 public:
  using Options = BidirectionalOptions;
  using Product = Bidirectional;
  static constexpr ClassText about{
      .name = "Bidirectional",
      .text =
          "Runs a recurrent layer in both directions: [batch, steps, features] -> [batch, 2 · units], or of each "
          "step.",
      .example = R"({"layer": {"class_name": "SimpleRNN", "config": {"units": 2}}})"};
  explicit Bidirectional(BidirectionalOptions options);
  explicit Bidirectional(const LayerPtr& layer) : Bidirectional(BidirectionalOptions{.layer = layer}) {}
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;
  std::vector<LayerPtr> layers() const override;
  /// Sets the states of stateful layers to zeros.
  void reset_state();

 protected:
  /// None: call_with() sets the masks.
  Value mask_of(const std::vector<Value>&, Value) const override { return {}; }

 private:
  const BidirectionalOptions& options_;
  std::shared_ptr<Recurrent> forward_, backward_;
};

struct TimeDistributedOptions {
  LayerPtr layer = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = TimeDistributedOptions> static constexpr auto fields() {
    return option_rows(option<&O::layer>("The layer that is applied to each step.", Need::required), layer_fields<O>());
  }
};

/// A layer applied to each step: [batch, steps, ..] -> [batch, steps, ..]. All steps of a batch are one batch of the
/// layer. Throws Error(value) without a layer, Error(shape) for inputs without steps. Source:
/// keras/src/layers/rnn/time_distributed.py.
class TimeDistributed : public Layer {
 public:
  using Options = TimeDistributedOptions;
  static constexpr ClassText about{.name = "TimeDistributed",
                                   .text = "Applies a layer to each step: [batch, steps, ..] -> [batch, steps, ..].",
                                   .example = R"({"layer": {"class_name": "Dense", "config": {"units": 2}}})"};
  explicit TimeDistributed(TimeDistributedOptions options);
  explicit TimeDistributed(const LayerPtr& layer) : TimeDistributed(TimeDistributedOptions{.layer = layer}) {}
  Value call(Value x, bool training) override;
  std::vector<LayerPtr> layers() const override { return {layer_}; }

 private:
  LayerPtr layer_;
};

namespace layers {
inline constexpr Factory<Bidirectional> bidirectional;
inline constexpr Factory<TimeDistributed> time_distributed;
}  // namespace layers

}  // namespace etude
