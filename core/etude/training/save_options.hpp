#pragma once

#include <cstdint>
#include <functional>

#include "etude/classes/field.hpp"

namespace etude {

/// Gets the number of bytes of a model's values that were written, and the number of all bytes: twice as many as the
/// values have for a folder, whose checksums are computed first.
using SaveProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Options of Model::save and Model::save_weights.
struct SaveOptions {
  /// Whether a file or folder of the same name is replaced. Otherwise it is an error.
  bool overwrite = true;
  /// Is called after each value, and when all is saved.
  SaveProgress progress = {};

  template <class O = SaveOptions> static constexpr auto fields() {
    return option_rows(option<&O::overwrite>("Whether what has the same name is replaced."));
  }
};

}  // namespace etude
