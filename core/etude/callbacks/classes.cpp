#include "etude/callbacks/callbacks.hpp"
#include "etude/classes/class_table.hpp"

namespace etude {

template <> ClassTable& class_table<Callback>() {
  static ClassTable table("callback", callbacks::Callbacks::entries);
  return table;
}

}  // namespace etude
