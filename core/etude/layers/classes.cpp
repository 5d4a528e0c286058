#include "etude/classes/class_table.hpp"
#include "etude/layers/layers.hpp"

namespace etude {

template <> const ClassTable& class_table<Layer>() {
  static const ClassTable table("layer", layers::Layers::entries);
  return table;
}

}  // namespace etude
