#pragma once

#include "etude/layers/layer.hpp"

namespace etude {

struct FlattenOptions {
  std::string data_format = "channels_last";
  std::string name = {};
  std::string dtype = {};
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("data_format", self.data_format);
    visit("name", self.name);
    visit("dtype", self.dtype);
  }
};

/// [batch, ..] -> [batch, product of the rest]; [batch] -> [batch, 1]. "channels_first" data is put in the order of
/// "channels_last" before. Throws Error(value) for another data_format. Source:
/// keras/src/layers/reshaping/flatten.py.
class Flatten : public Layer {
 public:
  explicit Flatten(FlattenOptions options = {});
  Value call(Value x, bool training) override;

 private:
  bool channels_first_;
};

}  // namespace etude
