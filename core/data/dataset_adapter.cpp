#include "etude/data/dataset_adapter.hpp"

#include <utility>

namespace etude {

DatasetAdapter::DatasetAdapter(Dataset dataset, std::optional<std::int64_t> steps)
    : AwaitedAdapter("Dataset"),
      dataset_(std::move(dataset)),
      passes_(!steps || *steps == dataset_.cardinality() ? Passes::each_epoch : Passes::one),
      elements_(dataset_) {}

std::optional<std::int64_t> DatasetAdapter::size() const {
  const std::int64_t elements = dataset_.cardinality();
  return elements < 0 ? std::nullopt : std::optional(elements);
}

void DatasetAdapter::begin_epoch(int epoch) {
  if (epoch == epoch_ && taken() == 0) return;  // what was looked at is not made twice
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
