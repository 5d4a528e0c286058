#include "etude/callbacks/callbacks.hpp"
#include "etude/classes/class_table.hpp"

namespace etude {

template <> const ClassTable& class_table<Callback>() {
  static const ClassTable table("callback", callbacks::Callbacks::entries);
  return table;
}

}  // namespace etude
