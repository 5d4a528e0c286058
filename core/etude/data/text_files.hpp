#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/tensor.hpp"
#include "etude/classes/field.hpp"

namespace etude::utils {

/// Options of text_dataset_from_directory.
struct TextDatasetOptions {
  /// The form of labels: "int", "binary", "categorical", or none.
  std::optional<std::string> label_mode = "int";
  /// The folders that are classes, in the order of their labels. Default: all, in alphabetical order.
  std::vector<std::string> class_names = {};
  /// The most bytes of a text; a character that they cut is left out.
  std::optional<std::int64_t> max_length = {};
  /// Whether the texts are in a random order. Otherwise that of their paths.
  bool shuffle = true;
  /// The seed of the order.
  std::optional<std::int64_t> seed = {};
  /// The fraction of the texts, the last ones, that is for validation.
  std::optional<double> validation_split = {};
  /// "training" or "validation", with validation_split.
  std::optional<std::string> subset = {};

  static constexpr auto fields() {
    using Options = TextDatasetOptions;
    return option_rows(
        option<&Options::label_mode>("Form of labels: \"int\"; \"binary\": 0 or 1 as floats; \"categorical\": one-hot "
                                     "rows; or null: none. Default: \"int\"."),
        option<&Options::class_names>("Folders that are classes, in the order of their labels. Default: all, in "
                                      "alphabetical order."),
        option<&Options::max_length>("Most bytes of a text; a character that they cut is left out. Default: no limit."),
        option<&Options::shuffle>("Whether the texts are in a random order instead of that of their paths."),
        option<&Options::seed>("Seed of the order. Default: derived from the global seed."),
        option<&Options::validation_split>("Fraction of the texts, the last ones, that is for validation."),
        option<&Options::subset>("\"training\" or \"validation\": the texts that are read, with validation_split."));
  }
};

/// Texts with labels.
struct TextDataset {
  /// The contents of the files.
  std::vector<std::string> texts;
  /// "int": int32 [texts]; "binary": [texts, 1]; "categorical": [texts, classes]. Empty without labels.
  Tensor labels;
  /// The names of the classes, by their numbers; none without labels.
  std::vector<std::string> class_names;
};

/// Reads all files .txt below a folder that has a folder for each class; without labels, all below the folder. Links
/// are not followed. Throws Error(value) for options that contradict each other and for class_names without a folder,
/// Error(data) if there are no files, Error(io) if a file cannot be read. Source:
/// keras/src/utils/text_dataset_utils.py.
TextDataset text_dataset_from_directory(const std::string& directory, const TextDatasetOptions& options = {});

}  // namespace etude::utils
