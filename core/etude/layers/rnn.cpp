#include "etude/layers/rnn.hpp"

#include "etude/base/error.hpp"

namespace etude {
namespace {

/// A copy of a cell that is frozen if the cell is.
std::shared_ptr<RnnCell> twin_of(const RnnCell& cell) {
  std::shared_ptr<RnnCell> twin = cell.copy();
  twin->set_own_trainable(cell.trainable());
  return twin;
}

}  // namespace

StackedRNNCells::StackedRNNCells(StackedRNNCellsOptions options)
    : RnnCell(class_entry<StackedRNNCells>, std::move(options)) {
  const auto& cells = described_options<StackedRNNCellsOptions>().cells;
  check(!cells.empty(), ErrorKind::value, where(), "no cells - expected one or more - set cells.");
  for (const LayerPtr& layer : cells) cells_.push_back(cell_of(layer, "cells", where()));
  for (const auto& cell : cells_) check_can_hold(*cell);
}

/// Calls visit(cell, shape of its input) for each cell. -> the shape of the last output
template <class Visit> Shape StackedRNNCells::along(const Shape& x, const Visit& visit) const {
  Shape shape = x;
  for (const auto& cell : cells_) {
    visit(*cell, shape);
    shape = cell->step_output_shape(shape);
  }
  return shape;
}

void StackedRNNCells::build(const Shape& x) {
  along(x, [](RnnCell& cell, const Shape& shape) { cell.build_step(shape); });
}

Shape StackedRNNCells::step_output_shape(const Shape& x) const {
  return along(x, [](RnnCell&, const Shape&) {});
}

std::vector<Shape> StackedRNNCells::state_shapes(const Shape& x) const {
  std::vector<Shape> result;
  along(x, [&](RnnCell& cell, const Shape& shape) {
    for (const Shape& state : cell.state_shapes(shape)) result.push_back(state);
  });
  return result;
}

std::vector<Value> StackedRNNCells::initial_states(const Shape& x) const {
  std::vector<Value> result;
  along(x, [&](RnnCell& cell, const Shape& shape) {
    for (const Value& state : cell.initial_states(shape)) result.push_back(state);
  });
  return result;
}

RnnCell::Parts StackedRNNCells::parts(const Shape& x, bool training) {
  struct Stage {
    Parts parts;
    std::ptrdiff_t states;
  };
  std::vector<Stage> stages;
  along(x, [&](RnnCell& cell, const Shape& shape) {
    stages.push_back({cell.parts(shape, training), std::ssize(cell.state_shapes(shape))});
  });
  const auto project = stages.front().parts.project;
  return {project, [stages = std::move(stages)](Value projected, const std::vector<Value>& states) {
            Step result{projected, {}};
            auto state = states.begin();
            for (const Stage& stage : stages) {
              const bool first = &stage == &stages.front();
              const Value input = first ? projected : stage.parts.project(result.output);
              Step made = stage.parts.advance(input, {state, state + stage.states});
              state += stage.states;
              result.output = made.output;
              result.states.insert(result.states.end(), made.states.begin(), made.states.end());
            }
            return result;
          }};
}

std::shared_ptr<RnnCell> StackedRNNCells::copy() const {
  StackedRNNCellsOptions options = described_options<StackedRNNCellsOptions>();
  for (std::size_t i = 0; i < cells_.size(); ++i) options.cells[i] = twin_of(*cells_[i]);
  return std::make_shared<StackedRNNCells>(std::move(options));
}

RNN::RNN(RNNOptions options)
    : Recurrent(about.name, recurrent_options(options), cell_of(options.cell, "cell", about.name)) {
  describe({class_entry<RNN>, std::move(options)});
}

std::shared_ptr<Recurrent> RNN::copy(bool go_backwards, const std::string& name) const {
  RNNOptions options = described_options<RNNOptions>();
  options.cell = twin_of(*cell());
  options.go_backwards = go_backwards;
  options.name = name;
  return std::make_shared<RNN>(std::move(options));
}

}  // namespace etude
