#include "etude/saving/detail/format_functions.hpp"

#include "etude/saving/detail/keras_file.hpp"
#include "etude/saving/detail/tfjs_model.hpp"

namespace etude {

FormatFunctions functions_of(FileFormat format) {
  switch (format) {
    case FileFormat::keras:
      return {.load = load_keras,
              .save = save_keras,
              .load_weights = load_keras_weights,
              .load_strings = load_keras_strings};
    case FileFormat::hdf5:
      return {.load = load_h5, .load_weights = load_keras_weights, .save_weights = save_keras_weights};
    case FileFormat::keras_shards: return {.load_weights = load_keras_weights};
    case FileFormat::tfjs: return {.load = load_tfjs, .save = save_tfjs, .weight_names = tfjs_weight_names};
    default: return {};
  }
}

}  // namespace etude
