#pragma once

#include <set>
#include <string>
#include <vector>

#include "etude/training/model.hpp"

namespace etude {

/// A sequence of layers, built on the first batch. Source: keras/src/models/sequential.py.
class Sequential : public Model {
 public:
  /// Of these layers, one after the other.
  explicit Sequential(std::vector<LayerPtr> layers = {}, const LayerOptions& options = {});
  ~Sequential() override;
  /// Adds a layer at the end, or removes the last one. Throws Error(value) for no layer, a duplicate name, and a layer
  /// that contains this model or would be nested too deep; Error(state) while a loop runs.
  void add(LayerPtr layer);
  /// Removes the last layer. Throws Error(state) where there is none, and while a loop runs.
  void pop();

  Value call(Value x, bool training) override;
  std::vector<LayerPtr> layers() const override { return layers_; }

 private:
  std::vector<LayerPtr> layers_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace etude
