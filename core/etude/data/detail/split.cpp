#include "etude/data/detail/split.hpp"

#include <cmath>

#include "etude/base/error.hpp"

namespace etude {
namespace {

Batch rows(const Batch& arrays, std::int64_t begin, std::int64_t end) {
  Batch part = arrays;
  for (auto* tensors : {&part.x, &part.y, &part.sample_weight, &part.mask})
    for (Tensor& tensor : *tensors)
      if (tensor) tensor = tensor.rows(begin, end);
  return part;
}

}  // namespace

Split train_validation_split(const Batch& arrays, double validation_split) {
  check(validation_split > 0 && validation_split < 1, ErrorKind::value, "fit", "validation_split ", validation_split,
        " - expected a number between 0 and 1 - pass the fraction of samples for validation.");
  check_cardinality(arrays, "fit");
  const std::int64_t samples = arrays.size();
  const auto split_at = static_cast<std::int64_t>(std::floor(static_cast<double>(samples) * (1.0 - validation_split)));
  check(split_at != 0 && split_at != samples, ErrorKind::value, "fit", "Training data contains ", samples,
        " samples, which is not sufficient to split it into a validation and training set as specified by "
        "`validation_split=",
        validation_split,
        "` - expected at least one sample for each - Either provide more data, or a different value for the "
        "`validation_split` argument.");
  Split split{rows(arrays, 0, split_at), rows(arrays, split_at, samples)};
  split.validation.numbers = {.first = split_at};
  return split;
}

void check_no_validation_split(double validation_split) {
  check(validation_split == 0, ErrorKind::value, "fit", "validation_split ", validation_split,
        " for data that comes in batches - `validation_split` is only supported for arrays - pass "
        "validation_data instead.");
}

}  // namespace etude
