#pragma once

/// Private to core/data: files in a folder for each class, of which datasets are made.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/tensor.hpp"
#include "etude/base/vfs.hpp"
#include "etude/classes/field.hpp"

namespace etude {

/// The rows of the options that texts and images share, after those of their own.
template <class Options> constexpr auto class_fields() {
  return option_rows(
      option<&Options::labels>(
          "Labels of the files, in the order of their paths. Default: the numbers of their folders."),
      option<&Options::label_mode>("Form of labels: \"int\"; \"binary\": 0 or 1 as floats; \"categorical\": one-hot "
                                   "rows; or null: none. Default: \"int\"."),
      option<&Options::class_names>(
          "Folders that are classes, in the order of their labels. Default: all, in alphabetical order."));
}
template <class Options> constexpr auto order_fields() {
  return option_rows(
      option<&Options::shuffle>("Whether the files are in a random order instead of that of their paths."),
      option<&Options::seed>("Seed of the order. Default: derived from the global seed."),
      option<&Options::validation_split>("Fraction of the files, the last ones, that is for validation."));
}
template <class Options> constexpr auto link_fields() {
  return option_rows(option<&Options::follow_links>("Whether links to folders inside the classes are followed."));
}

/// The options that texts and images share.
struct LabelledFilesOptions {
  std::vector<std::int64_t> labels = {};
  std::optional<std::string> label_mode = "int";
  std::vector<std::string> class_names = {};
  bool shuffle = true;
  std::optional<std::int64_t> seed = {};
  std::optional<double> validation_split = {};
  std::optional<std::string> subset = {};
  bool follow_links = false;
};

/// Files, the label of each, and the names of the classes; without labels only the files.
struct LabelledFiles {
  std::vector<std::string> paths;
  std::vector<std::int64_t> labels;
  std::vector<std::string> class_names;
};

/// Throws Error(value) for options that contradict each other. The caller checks the names of subsets.
void check_labelled_files(const LabelledFilesOptions& options, std::string_view where);
/// All files below a folder whose names end in one of `endings`, which are in small letters, in the order of the
/// options. Throws Error(value) for class_names without a folder and for labels that do not match the files,
/// Error(data) if there are no files.
LabelledFiles labelled_files(Vfs& files, const std::string& directory, std::span<const std::string_view> endings,
                             const LabelledFilesOptions& options, std::string_view where);
/// The files of a subset, "training" or "validation": all but the last ones, or these.
LabelledFiles part_of(const LabelledFiles& files, double validation_split, std::string_view subset);
/// "int": int32 [files]; "binary": [files, 1]; "categorical": [files, classes].
Tensor label_tensor(const LabelledFiles& files, const std::string& label_mode);

}  // namespace etude
