#include "etude/data/detail/dataset_adapter.hpp"

#include <string>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {
namespace {

/// Throws Error(data) for an element whose tensors have no rows, or different numbers of rows: an element of a dataset
/// without `batch`.
void check_batched(const Batch& element) {
  std::string shapes;
  bool rows = true, same = true;
  for (const auto* tensors : {&element.x, &element.y, &element.sample_weight})
    for (const Tensor& tensor : *tensors) {
      shapes += (shapes.empty() ? "" : ", ") + tensor.shape().to_string();
      rows &= tensor.shape().rank() > 0;
      same &= rows && tensor.shape()[0] == element.x.front().shape()[0];
    }
  check(rows && same, ErrorKind::data, "Dataset", "an element of shapes ", shapes,
        " - expected batches, [samples, ..] with as many samples in each tensor - call .batch(n) on the dataset.");
}

}  // namespace

DatasetAdapter::DatasetAdapter(Dataset dataset, std::optional<std::int64_t> steps)
    : AwaitedAdapter("Dataset"),
      dataset_(std::move(dataset)),
      passes_(!steps || *steps == dataset_.cardinality() ? Passes::each_epoch : Passes::one),
      elements_(dataset_) {}

std::optional<std::int64_t> DatasetAdapter::size() const {
  const std::int64_t elements = dataset_.cardinality();
  return elements < 0 ? std::nullopt : std::optional(elements);
}

Task<std::optional<Batch>> DatasetAdapter::next() {
  std::optional<Batch> element = co_await elements_.next();
  if (element && !element->x.empty()) check_batched(*element);
  co_return element;
}

void DatasetAdapter::begin_epoch(int epoch) {
  if (epoch == epoch_ && consumed() == 0) return;  // the element of peek() is not made twice
  epoch_ = epoch;
  elements_ = DatasetIterator(dataset_, static_cast<std::uint64_t>(epoch));
  rewind();
}

void DatasetAdapter::restore(const DataState& state) {
  check_state(state, 2, "Dataset");
  elements_.restore(state);
  epoch_ = static_cast<int>(state[0]);
  rewind(state[1]);
}

}  // namespace etude
