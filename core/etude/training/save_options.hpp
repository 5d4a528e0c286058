#pragma once

#include "etude/classes/field.hpp"

namespace etude {

/// Options of Model::save and Model::save_weights.
struct SaveOptions {
  /// Whether what has the same name is replaced. Otherwise it is an error.
  bool overwrite = true;

  static constexpr auto fields() {
    return option_rows(option<&SaveOptions::overwrite>("Whether what has the same name is replaced."));
  }
};

}  // namespace etude
