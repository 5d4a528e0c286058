#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/tensor.hpp"
#include "etude/classes/field.hpp"
#include "etude/data/detail/labelled_files.hpp"

namespace etude::utils {

/// Options of text_dataset_from_directory.
struct TextDatasetOptions {
  /// The labels of the files, in the order of their paths; their classes are named by their numbers. Default: those of
  /// the folders.
  std::vector<std::int64_t> labels = {};
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
  /// Whether links to folders inside the classes are followed.
  bool follow_links = false;

  template <class O = TextDatasetOptions> static constexpr auto fields() {
    return option_rows(
        class_fields<O>(),
        option<&O::max_length>("Most bytes of a text; a character that they cut is left out. Default: no limit."),
        order_fields<O>(),
        option<&O::subset>("\"training\" or \"validation\": the texts that are read, with validation_split."),
        link_fields<O>());
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

/// Reads all files .txt below a folder that has a folder for each class; without labels, all below the folder. Throws
/// Error(value) for options that contradict each other, for class_names without a folder and for labels that do not
/// match the files, Error(data) if there are no files, Error(io) if a file cannot be read. Source:
/// keras/src/utils/text_dataset_utils.py.
TextDataset text_dataset_from_directory(const std::string& directory, const TextDatasetOptions& options = {});

}  // namespace etude::utils
