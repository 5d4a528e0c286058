#include "etude/data/text_files.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/random.hpp"

namespace etude::utils {
namespace {

constexpr const char* where = "utils.text_dataset_from_directory";

/// A file, and the number of its class.
struct TextFile {
  std::string path;
  std::size_t label;
};

bool is_text(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return name.ends_with(".txt");
}

/// The folder, and all folders below it.
void add_folders(Vfs& files, const std::string& folder, std::set<std::string>& folders, int depth = 0) {
  check(depth < 100, ErrorKind::data, where, "folders more than 100 deep in \"", folder,
        "\" - expected fewer - check the data.");
  folders.insert(folder);
  for (const std::string& name : files.list(folder))
    if (const std::string path = folder + '/' + name; files.kind(path) == PathKind::folder)
      add_folders(files, path, folders, depth + 1);
}

void add_files(Vfs& files, const std::string& folder, std::size_t label, std::vector<TextFile>& all) {
  std::set<std::string> folders;
  add_folders(files, folder, folders);
  for (const std::string& each : folders)
    for (const std::string& name : files.list(each))
      if (is_text(name) && files.kind(each + '/' + name) == PathKind::file) all.push_back({each + '/' + name, label});
}

std::vector<std::string> classes_in(Vfs& files, const std::string& directory,
                                    const std::vector<std::string>& class_names) {
  std::vector<std::string> folders;
  for (const std::string& name : files.list(directory))
    if (!name.starts_with('.') && files.kind(directory + '/' + name) == PathKind::folder) folders.push_back(name);
  for (const std::string& name : class_names)
    check(std::ranges::find(folders, name) != folders.end(), ErrorKind::value, where, "class_names with \"", name,
          "\", which is no folder of \"", directory, "\" - expected names of its folders - check class_names.");
  return class_names.empty() ? folders : class_names;
}

void check_options(const TextDatasetOptions& o) {
  check(!o.label_mode || *o.label_mode == "int" || *o.label_mode == "binary" || *o.label_mode == "categorical",
        ErrorKind::value, where, "label_mode = \"", o.label_mode.value_or(""),
        "\" - expected \"int\", \"binary\", \"categorical\" or none - choose one.");
  check(o.label_mode || o.class_names.empty(), ErrorKind::value, where,
        "class_names without labels - expected one of them - leave class_names out, or set label_mode.");
  check(o.max_length.value_or(1) > 0, ErrorKind::value, where, "max_length = ", o.max_length.value_or(1),
        " - expected 1 or more - set max_length.");
  const double split = o.validation_split.value_or(0.5);
  check(split > 0 && split < 1, ErrorKind::value, where, "validation_split = ", split,
        " - expected a number between 0 and 1 - set validation_split.");
  check(o.validation_split.has_value() == o.subset.has_value(), ErrorKind::value, where,
        "one of validation_split and subset - expected both, or none - set both.");
  check(!o.subset || *o.subset == "training" || *o.subset == "validation", ErrorKind::value, where, "subset = \"",
        o.subset.value_or(""), "\" - expected \"training\" or \"validation\" - choose one.");
  check(!o.subset || !o.shuffle || o.seed, ErrorKind::value, where,
        "validation_split of shuffled texts without a seed - expected one, so that no text is in both parts - set "
        "seed.");
}

/// The texts of the option `subset`, in the order of the result.
std::vector<TextFile> selected(std::vector<TextFile> files, const TextDatasetOptions& o) {
  if (o.shuffle) {
    std::vector<std::int64_t> order(files.size());
    shuffled_order(order, o.seed ? static_cast<std::uint64_t>(*o.seed) : random_seed(), 0);
    std::vector<TextFile> shuffled;
    for (const std::int64_t i : order) shuffled.push_back(std::move(files[static_cast<std::size_t>(i)]));
    files = std::move(shuffled);
  }
  if (!o.subset) return files;
  const auto count = static_cast<std::ptrdiff_t>(*o.validation_split * static_cast<double>(files.size()));
  if (*o.subset == "training")
    files.erase(files.end() - count, files.end());
  else
    files.erase(files.begin(), files.end() - count);
  return files;
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

Tensor labels_of(const std::vector<TextFile>& files, const std::string& mode, std::size_t classes) {
  const std::int64_t count = std::ssize(files);
  if (mode == "int") {
    Tensor labels({count}, DType::int32);
    std::ranges::transform(files, labels.data<std::int32_t>().begin(),
                           [](const TextFile& file) { return static_cast<std::int32_t>(file.label); });
    return labels;
  }
  const std::size_t columns = mode == "binary" ? 1 : classes;
  Tensor labels({count, static_cast<std::int64_t>(columns)});
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (mode == "binary")
      labels.data<float>()[i] = static_cast<float>(files[i].label);
    else
      labels.data<float>()[i * columns + files[i].label] = 1;
  }
  return labels;
}

}  // namespace

TextDataset text_dataset_from_directory(const std::string& directory, const TextDatasetOptions& options) {
  check_options(options);
  const std::shared_ptr<Vfs> files = vfs_or_host(nullptr, where);
  TextDataset result;
  std::vector<TextFile> all;
  if (options.label_mode) {
    result.class_names = classes_in(*files, directory, options.class_names);
    for (std::size_t label = 0; label < result.class_names.size(); ++label)
      add_files(*files, directory + '/' + result.class_names[label], label, all);
  } else {
    add_files(*files, directory, 0, all);
  }
  const std::size_t classes = result.class_names.size();
  check(options.label_mode != "binary" || classes == 2, ErrorKind::value, where, "label_mode = \"binary\" for ",
        classes, " classes - expected two - choose another label_mode.");
  check(!all.empty(), ErrorKind::data, where, "no files .txt below \"", directory,
        "\" - expected them in a folder for each class - check the path.");
  all = selected(std::move(all), options);
  for (const TextFile& file : all) result.texts.push_back(text_in(*files, file.path, options.max_length));
  if (options.label_mode) result.labels = labels_of(all, *options.label_mode, classes);
  return result;
}

}  // namespace etude::utils
