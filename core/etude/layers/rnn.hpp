#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "etude/layers/recurrent.hpp"

namespace etude {

struct StackedRNNCellsOptions {
  std::vector<LayerPtr> cells = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = StackedRNNCellsOptions> static constexpr auto fields() {
    return option_rows(option<&O::cells>("The cells, in order.", Need::required), layer_fields<O>());
  }
};

/// Cells of which each gets the output of the one before it. Its states are those of all cells, in order; its output is
/// that of the last. Throws Error(value) without cells, and for a layer that is not a cell. Source:
/// keras/src/layers/rnn/stacked_rnn_cells.py.
class StackedRNNCells : public RnnCell {
 public:
  using Options = StackedRNNCellsOptions;
  static constexpr ClassText about{.name = "StackedRNNCells",
                                   .text = "Cells of which each gets the output of the one before it.",
                                   .example = R"({"cells": [{"class_name": "LSTMCell", "config": {"units": 2}}]})"};
  explicit StackedRNNCells(StackedRNNCellsOptions options);
  explicit StackedRNNCells(std::vector<LayerPtr> cells)
      : StackedRNNCells(StackedRNNCellsOptions{.cells = std::move(cells)}) {}
  std::vector<LayerPtr> layers() const override { return {cells_.begin(), cells_.end()}; }
  void build(const Shape& x) override;
  std::vector<Shape> state_shapes(const Shape& x) const override;
  Shape step_output_shape(const Shape& x) const override;
  DType output_dtype() const override { return cells_.back()->output_dtype(); }
  std::vector<Value> initial_states(const Shape& x) const override;
  Step step(Value x, const std::vector<Value>& states, bool training) override {
    return step_by_parts(x, states, training);
  }
  Parts parts(const Shape& x, bool training) override;
  std::shared_ptr<RnnCell> copy() const override;

 private:
  template <class Visit> Shape along(const Shape& x, const Visit& visit) const;

  std::vector<std::shared_ptr<RnnCell>> cells_;
};

struct RNNOptions {
  LayerPtr cell = {};
  Choice<Regularizer> activity_regularizer = {};
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false, unroll = false,
       zero_output_for_mask = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = RNNOptions> static constexpr auto fields() {
    return option_rows(option<&O::cell>("The cell that computes one step, such as LSTMCell.", Need::required),
                       recurrent_fields<O>());
  }
};

/// A loop of any cell, one's own too. Throws Error(value) for a layer that is not a cell. Source:
/// keras/src/layers/rnn/rnn.py.
class RNN : public Recurrent {
 public:
  using Options = RNNOptions;
  static constexpr ClassText about{
      .name = "RNN",
      .text = "Runs a cell over steps: [batch, steps, ..] -> [batch, ..] of the last step, or of each.",
      .example = R"({"cell": {"class_name": "GRUCell", "config": {"units": 2}}})"};
  explicit RNN(RNNOptions options);
  explicit RNN(const LayerPtr& cell) : RNN(RNNOptions{.cell = cell}) {}
  std::shared_ptr<Recurrent> copy(bool go_backwards, const std::string& name) const override;
};

namespace layers {
inline constexpr Factory<StackedRNNCells> stacked_rnn_cells;
inline constexpr Factory<RNN> rnn;
}  // namespace layers

}  // namespace etude
