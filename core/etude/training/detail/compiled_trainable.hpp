#pragma once

#include <utility>
#include <vector>

#include "etude/layers/layer.hpp"

namespace etude {

/// While it exists, layers have the trainable flags of the last compile() (L-28).
class CompiledTrainable {
 public:
  explicit CompiledTrainable(const std::vector<std::pair<LayerPtr, bool>>& compiled) {
    for (const auto& [layer, trainable] : compiled) now_.emplace_back(layer, layer->trainable());
    for (const auto& [layer, trainable] : compiled) layer->set_own_trainable(trainable);
  }
  ~CompiledTrainable() {
    for (const auto& [layer, trainable] : now_) layer->set_own_trainable(trainable);
  }
  CompiledTrainable(const CompiledTrainable&) = delete;
  CompiledTrainable& operator=(const CompiledTrainable&) = delete;

 private:
  std::vector<std::pair<LayerPtr, bool>> now_;
};

}  // namespace etude
