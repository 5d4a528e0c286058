#include "etude/layers/preprocessing_layer.hpp"

namespace etude {

void PreprocessingLayer::adapt(const Tensor& data) {
  reset_state();
  // Each number of a list is a row.
  update_state(data.shape().rank() == 1 ? data.reshape({data.size(), 1}) : data);
  finalize_state();
}

void PreprocessingLayer::add_batch(const Tensor& element) {
  const bool is_row = element.shape().rank() < 2;
  update_state(is_row ? element.reshape({1, element.size()}) : element);
}

}  // namespace etude
