#include "etude/classes/class_table.hpp"
#include "etude/constraints/constraint.hpp"

namespace etude {

template <> ClassTable& class_table<Constraint>() {
  static ClassTable table("constraint", constraints::Constraints::entries);
  return table;
}

}  // namespace etude
