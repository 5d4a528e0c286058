#include "etude/data/text_files.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"

namespace etude::utils {
namespace {

constexpr const char* where = "utils.text_dataset_from_directory";

void check_options(const TextDatasetOptions& o) {
  check(o.max_length.value_or(1) > 0, ErrorKind::value, where, "max_length = ", o.max_length.value_or(1),
        " - expected 1 or more - set max_length.");
  check(!o.subset || *o.subset == "training" || *o.subset == "validation", ErrorKind::value, where, "subset = \"",
        o.subset.value_or(""), "\" - expected \"training\" or \"validation\" - choose one.");
}

std::string text_in(Vfs& files, const std::string& path, std::optional<std::int64_t> max_length) {
  const std::vector<std::byte> bytes = files.read(path);
  auto size = bytes.size();
  if (max_length && static_cast<std::uint64_t>(*max_length) < size) {
    size = static_cast<std::size_t>(*max_length);
    // The first byte of a character is not 10xxxxxx.
    while (size > 0 && (std::to_integer<unsigned>(bytes[size]) & 0xc0) == 0x80) --size;
  }
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

}  // namespace

TextDataset text_dataset_from_directory(const std::string& directory, const TextDatasetOptions& options) {
  const LabelledFilesOptions shared{.labels = options.labels,
                                    .label_mode = options.label_mode,
                                    .class_names = options.class_names,
                                    .shuffle = options.shuffle,
                                    .seed = options.seed,
                                    .validation_split = options.validation_split,
                                    .subset = options.subset,
                                    .follow_links = options.follow_links};
  check_labelled_files(shared, where);
  check_options(options);
  constexpr std::string_view endings[] = {".txt"};
  const std::shared_ptr<Vfs> files = vfs_or_host(nullptr, where);
  LabelledFiles found = labelled_files(*files, directory, endings, shared, where);
  if (options.subset) found = part_of(found, *options.validation_split, *options.subset);
  TextDataset result;
  for (const std::string& path : found.paths) result.texts.push_back(text_in(*files, path, options.max_length));
  if (options.label_mode) result.labels = label_tensor(found, *options.label_mode);
  result.class_names = std::move(found.class_names);
  return result;
}

}  // namespace etude::utils
