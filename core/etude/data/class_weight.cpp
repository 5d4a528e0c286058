#include "etude/data/class_weight.hpp"

#include <cmath>

#include "etude/base/error.hpp"

namespace etude {

Tensor class_weights_of(const Tensor& y, const ClassWeight& class_weight, std::string_view where) {
  const Shape& shape = y.shape();
  check(shape.rank() == 1 || shape.rank() == 2, ErrorKind::value, where, "class_weight with targets of shape ", shape,
        " - `class_weight` not supported for 3+ dimensional targets - pass sample_weight instead.");
  const std::int64_t rows = shape[0], columns = shape.rank() == 2 ? shape[1] : 1;
  std::vector<double> weights;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t label = 0;
    if (columns == 1)
      label = std::llround(y.at(row));
    else
      for (std::int64_t i = 1; i < columns; ++i)
        if (y.at(row * columns + i) > y.at(row * columns + label)) label = i;
    const auto found = class_weight.find(static_cast<int>(label));
    weights.push_back(found == class_weight.end() ? 1.0 : found->second);
  }
  return Tensor::from({rows}, weights).astype(floatx());
}

Batch weighted(Batch batch, const ClassWeight& class_weight, std::string_view where) {
  check(batch.y.size() == 1, ErrorKind::value, where, "class_weight with ", batch.y.size(),
        " targets - `class_weight` is only supported for Models with a single output - pass sample_weight instead.");
  const Tensor weights = class_weights_of(batch.y.front(), class_weight, where);
  if (batch.sample_weight.empty()) {
    batch.sample_weight = {weights};
    return batch;
  }
  const Tensor& given = batch.sample_weight.front();
  const std::int64_t each = given.size() / weights.size();
  std::vector<double> product;
  for (std::int64_t i = 0; i < given.size(); ++i) product.push_back(given.at(i) * weights.at(i / each));
  batch.sample_weight = {Tensor::from(given.shape(), product).astype(given.dtype())};
  return batch;
}

const Batch* ClassWeightAdapter::consume() {
  const Batch* batch = adapter_->consume();
  if (!batch) return nullptr;
  batch_ = weighted(*batch, class_weight_);
  return &batch_;
}

}  // namespace etude
