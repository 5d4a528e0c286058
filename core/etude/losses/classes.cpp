#include "etude/losses/losses.hpp"

#include "etude/classes/class_table.hpp"

namespace etude {

template <> ClassTable& class_table<Loss>() {
  static ClassTable table("loss", losses::Losses::entries);
  return table;
}

LossPtr losses::get(const Choice<Loss>& choice) {
  return choice.object() ? choice.object() : make_of<Loss>(class_table<Loss>().named(choice.name()));
}

}  // namespace etude
