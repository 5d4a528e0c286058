#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "etude/data/batch.hpp"

namespace etude {

/// What all batches of one source have in common: how many tensors, of which dtypes.
class Structure {
 public:
  /// Casts floats to floatx() (L-38). Throws Error(data) unless rows agree within the batch, and structure and dtypes
  /// with those of the batch that came first. `where` names the source.
  void admit(Batch& batch, std::string_view where);

 private:
  struct Form {
    std::size_t x, y, sample_weight;
    std::vector<DType> dtypes;
  };
  std::optional<Form> first_;
};

}  // namespace etude
