#pragma once

#include "etude/data/detail/tensor_like_adapter.hpp"

namespace etude {

/// The batches of lists of numbers, like those of tensors, but every epoch starts at the first batch (L-19). Source:
/// ListsOfScalarsDataAdapter in keras/engine/data_adapter.py (2.9).
class ListsAdapter : public TensorLikeAdapter {
 public:
  using TensorLikeAdapter::TensorLikeAdapter;
  Passes passes() const override { return Passes::each_epoch; }
};

}  // namespace etude
