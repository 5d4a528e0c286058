#include "etude/data/detail/data_adapter.hpp"

namespace etude {

DataState DataAdapter::state() const {
  fail(
      ErrorKind::state, "data",
      "its position is unknown - expected data that can return to a position: arrays, lists, a Dataset or a Sequence - "
      "wrap the generator in a Dataset.");
}

void DataAdapter::restore(const DataState&) { state(); }

}  // namespace etude
