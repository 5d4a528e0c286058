#pragma once

#include <string_view>
#include <vector>

#include "training_samples.hpp"

/// One small model of each kind of layers, its data, and its precision.
namespace etude::samples {

/// Sets the policy of new layers during its lifetime.
struct Policy {
  explicit Policy(std::string_view name) { set_dtype_policy(name); }
  ~Policy() { set_dtype_policy(""); }
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
};

/// Logits in float32, for any dtype of the layers before.
inline LayerPtr classes() { return layers::dense({.units = 3, .dtype = "float32"}); }

inline std::vector<LayerPtr> dense() {
  return {layers::dense({.units = 24, .activation = "gelu"}), layers::dropout(0.25), classes()};
}
inline std::vector<LayerPtr> convolutional() {
  return {layers::conv2d({.filters = 5, .kernel_size = {3, 3}, .padding = "same", .activation = "relu"}),
          layers::max_pooling2d({}),
          layers::batch_normalization({}),
          layers::conv2d({.filters = 4, .kernel_size = {2, 2}, .strides = {2, 1}}),
          layers::flatten(),
          classes()};
}
inline std::vector<LayerPtr> recurrent() { return {layers::lstm({.units = 7}), classes()}; }
inline std::vector<LayerPtr> normalized() {
  return {layers::gru({.units = 6, .return_sequences = true}), layers::layer_normalization({}),
          layers::global_average_pooling1d({}), classes()};
}

struct Kind {
  const char* name;
  std::vector<LayerPtr> (*layers)();
  const char* optimizer;
  Tensor x;
};
inline const std::vector<Kind> kinds{{"dense", dense, "rmsprop", waves({22, 40})},
                                     {"convolutional", convolutional, "sgd", waves({22, 8, 6, 2})},
                                     {"recurrent", recurrent, "adam", waves({22, 12, 8})},
                                     {"normalized", normalized, "sgd", waves({22, 12, 8})}};

inline const Tensor labels = [] {
  Tensor tensor({22}, DType::int32);
  for (std::int64_t i = 0; i < 22; ++i)
    tensor.data<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<int>(i * 7 % 3);
  return tensor;
}();

}  // namespace etude::samples
