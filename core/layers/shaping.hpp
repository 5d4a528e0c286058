#pragma once

#include "etude/layers/layer.hpp"

namespace etude {

struct FlattenOptions {
  std::string name = {};
  std::string dtype = {};
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("name", self.name);
    visit("dtype", self.dtype);
  }
};

/// [batch, ..] -> [batch, product of the rest]; [batch] -> [batch, 1]. Source: keras/src/layers/reshaping/flatten.py.
class Flatten : public Layer {
 public:
  explicit Flatten(FlattenOptions options = {});
  Value call(Value x, bool training) override;
};

}  // namespace etude
