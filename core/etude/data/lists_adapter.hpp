#pragma once

#include "etude/data/tensor_like_adapter.hpp"

namespace etude {

/// Batches of lists of numbers: as of the tensors that these become, but every epoch starts at the first batch (L-19).
/// Source: ListsOfScalarsDataAdapter in keras/engine/data_adapter.py (2.9).
class ListsAdapter : public TensorLikeAdapter {
 public:
  using TensorLikeAdapter::TensorLikeAdapter;
  Passes passes() const override { return Passes::each_epoch; }
};

}  // namespace etude
