#include "etude/classes/class_table.hpp"
#include "etude/regularizers/regularizer.hpp"

namespace etude {

template <> ClassTable& class_table<Regularizer>() {
  static ClassTable table("regularizer", regularizers::Regularizers::entries);
  return table;
}

}  // namespace etude
