#include "etude/classes/class_table.hpp"
#include "etude/layers/layers.hpp"

namespace etude {

template <> ClassTable& class_table<Layer>() {
  static ClassTable table("layer", layers::Layers::entries);
  return table;
}

}  // namespace etude
