#include "etude/classes/class_table.hpp"
#include "etude/initializers/initializer.hpp"

namespace etude {

template <> ClassTable& class_table<Initializer>() {
  static ClassTable table("initializer", initializers::Initializers::entries);
  return table;
}

}  // namespace etude
