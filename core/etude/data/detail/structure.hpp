#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "etude/data/batch.hpp"

namespace etude {

/// The common structure of a source's batches: the number of tensors, their names, and their dtypes.
class Structure {
 public:
  /// Casts floats to floatx() (L-38). Throws Error(data) unless the arrays have the same number of rows, and structure
  /// and dtypes are those of the first batch. `where` names the source.
  void admit(Batch& batch, std::string_view where);

 private:
  struct Form {
    std::size_t x, y, sample_weight;
    std::vector<DType> dtypes;
    BatchNames names;
  };
  std::optional<Form> first_;
};

}  // namespace etude
