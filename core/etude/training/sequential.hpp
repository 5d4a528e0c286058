#pragma once

#include <set>
#include <string>
#include <vector>

#include "etude/training/model.hpp"

namespace etude {

/// A sequence of layers, built on the first batch. Source: keras/src/models/sequential.py.
class Sequential : public Model {
 public:
  /// A model of these layers in sequence.
  explicit Sequential(std::vector<LayerPtr> layers = {}, const LayerOptions& options = {});
  ~Sequential() override;
  /// Adds a layer at the end. Throws Error(value) for a null layer, a duplicate name, and a layer that contains this
  /// model or would be nested too deep; Error(state) while a loop runs.
  void add(LayerPtr layer);
  /// Removes the last layer. Throws Error(state) if there is none, and while a loop runs.
  void pop();

  Value call(Value x, bool training) override;
  std::vector<LayerPtr> layers() const override { return layers_; }

 private:
  std::vector<LayerPtr> layers_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace etude
