#include "etude/classes/class_table.hpp"
#include "etude/initializers/initializer.hpp"

namespace etude {

template <> const ClassTable& class_table<Initializer>() {
  static const ClassTable table("initializer", initializers::Initializers::entries);
  return table;
}

}  // namespace etude
