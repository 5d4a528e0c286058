#include "etude/data/data_adapter.hpp"

namespace etude {

DataState DataAdapter::state() const {
  fail(
      ErrorKind::state, "data",
      "where it stands is not known - expected data that can be gone back to: arrays, lists, a Dataset or a Sequence - "
      "make a Dataset of the generator.");
}

void DataAdapter::restore(const DataState&) { state(); }

}  // namespace etude
