#include "etude/data/detail/labelled_files.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/random.hpp"

namespace etude {
namespace {

std::string in_small_letters(std::string name) {
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return name;
}

std::string joined(std::span<const std::string_view> endings) {
  std::string text;
  for (const std::string_view ending : endings) {
    if (!text.empty()) text += ending == endings.back() ? " or " : ", ";
    text += ending;
  }
  return text;
}

/// Whether there is a folder at a path; also a link to one, if `through_links`.
bool is_folder(Vfs& files, const std::string& path, bool through_links) {
  return (through_links ? files.kind_through_links(path) : files.kind(path)) == PathKind::folder;
}

/// Finds the files below a folder.
struct Search {
  Vfs& files;
  std::span<const std::string_view> endings;
  bool follow_links;
  std::string_view where;

  /// The folder, and all folders below it.
  void add_folders(const std::string& folder, std::set<std::string>& folders, int depth = 0) const {
    check(depth < 100, ErrorKind::data, where, "folders more than 100 deep in \"", folder,
          "\" - expected fewer - check the data.");
    folders.insert(folder);
    for (const std::string& name : files.list(folder))
      if (const std::string path = folder + '/' + name; is_folder(files, path, follow_links))
        add_folders(path, folders, depth + 1);
  }

  bool is_wanted(const std::string& name) const {
    const std::string small = in_small_letters(name);
    return std::ranges::any_of(endings, [&](std::string_view ending) { return small.ends_with(ending); });
  }

  void add_files(const std::string& folder, std::vector<std::string>& paths) const {
    std::set<std::string> folders;
    add_folders(folder, folders);
    for (const std::string& each : folders)
      for (const std::string& name : files.list(each))
        if (const std::string path = each + '/' + name; is_wanted(name) && files.kind(path) == PathKind::file)
          paths.push_back(path);
  }
};

std::vector<std::string> classes_in(Vfs& files, const std::string& directory,
                                    const std::vector<std::string>& class_names, std::string_view where) {
  std::vector<std::string> folders;
  for (const std::string& name : files.list(directory))
    if (!name.starts_with('.') && is_folder(files, directory + '/' + name, true)) folders.push_back(name);
  for (const std::string& name : class_names)
    check(std::ranges::find(folders, name) != folders.end(), ErrorKind::value, where, "class_names with \"", name,
          "\", which is no folder of \"", directory, "\" - expected names of its folders - check class_names.");
  return class_names.empty() ? folders : class_names;
}

/// The labels of the caller, whose classes are named by their numbers.
void set_labels(LabelledFiles& found, const LabelledFilesOptions& o, std::string_view where) {
  check(o.labels.size() == found.paths.size(), ErrorKind::value, where, o.labels.size(), " labels for ",
        found.paths.size(), " files - expected one for each - check labels.");
  const std::set<std::int64_t> all(o.labels.begin(), o.labels.end());
  for (const std::int64_t label : all) found.class_names.push_back(std::to_string(label));
  const std::int64_t classes = std::ssize(found.class_names);
  // An "int" may be any number: a model with more classes than these files have is possible.
  const std::int64_t least = 0, most = o.label_mode == "int" ? std::int64_t{INT32_MAX} : classes - 1;
  for (const std::int64_t label : all)
    check(label >= least && label <= most, ErrorKind::value, where, "label ", label, " - expected ", least, " to ",
          most, " - check labels.");
  found.labels = o.labels;
}

template <class T> void put_in_order(std::vector<T>& values, const std::vector<std::int64_t>& order) {
  std::vector<T> result;
  for (const std::int64_t i : order) result.push_back(std::move(values[static_cast<std::size_t>(i)]));
  values = std::move(result);
}

}  // namespace

void check_labelled_files(const LabelledFilesOptions& o, std::string_view where) {
  check(!o.label_mode || *o.label_mode == "int" || *o.label_mode == "binary" || *o.label_mode == "categorical",
        ErrorKind::value, where, "label_mode = \"", o.label_mode.value_or(""),
        "\" - expected \"int\", \"binary\", \"categorical\" or none - choose one.");
  check(o.label_mode || o.class_names.empty(), ErrorKind::value, where,
        "class_names without labels - expected one of them - leave class_names out, or set label_mode.");
  check(o.label_mode || o.labels.empty(), ErrorKind::value, where,
        "labels without a label_mode - expected both - leave labels out, or set label_mode.");
  check(o.labels.empty() || o.class_names.empty(), ErrorKind::value, where,
        "labels and class_names - expected one of them, as the names of such classes are their numbers - leave "
        "class_names out.");
  const double split = o.validation_split.value_or(0.5);
  check(split > 0 && split < 1, ErrorKind::value, where, "validation_split = ", split,
        " - expected a number between 0 and 1 - set validation_split.");
  check(o.validation_split.has_value() == o.subset.has_value(), ErrorKind::value, where,
        "one of validation_split and subset - expected both, or none - set both.");
  check(!o.subset || !o.shuffle || o.seed, ErrorKind::value, where,
        "validation_split of shuffled files without a seed - expected one, so that no file is in both parts - set "
        "seed.");
}

LabelledFiles labelled_files(Vfs& files, const std::string& directory, std::span<const std::string_view> endings,
                             const LabelledFilesOptions& o, std::string_view where) {
  const Search search{files, endings, o.follow_links, where};
  LabelledFiles found;
  if (o.label_mode && o.labels.empty()) {
    found.class_names = classes_in(files, directory, o.class_names, where);
    for (std::size_t label = 0; label < found.class_names.size(); ++label) {
      search.add_files(directory + '/' + found.class_names[label], found.paths);
      found.labels.resize(found.paths.size(), static_cast<std::int64_t>(label));
    }
  } else {
    search.add_files(directory, found.paths);
    if (o.label_mode) set_labels(found, o, where);
  }
  const std::size_t classes = found.class_names.size();
  check(o.label_mode != "binary" || classes == 2, ErrorKind::value, where, "label_mode = \"binary\" for ", classes,
        " classes - expected two - choose another label_mode.");
  check(!found.paths.empty(), ErrorKind::data, where, "no files ", joined(endings), " below \"", directory,
        "\" - expected them in a folder for each class - check the path.");
  if (!o.shuffle) return found;
  std::vector<std::int64_t> order(found.paths.size());
  shuffled_order(order, o.seed ? static_cast<std::uint64_t>(*o.seed) : random_seed(), 0);
  put_in_order(found.paths, order);
  if (o.label_mode) put_in_order(found.labels, order);
  return found;
}

LabelledFiles part_of(const LabelledFiles& files, double validation_split, std::string_view subset) {
  const std::ptrdiff_t all = std::ssize(files.paths);
  const auto last = static_cast<std::ptrdiff_t>(validation_split * static_cast<double>(all));
  const bool training = subset == "training";
  const auto part = [&](const auto& values) {
    if (values.empty()) return values;
    return training ? std::remove_cvref_t<decltype(values)>(values.begin(), values.end() - last)
                    : std::remove_cvref_t<decltype(values)>(values.end() - last, values.end());
  };
  return {part(files.paths), part(files.labels), files.class_names};
}

Tensor label_tensor(const LabelledFiles& files, const std::string& label_mode) {
  const std::int64_t count = std::ssize(files.labels);
  if (label_mode == "int") {
    Tensor labels({count}, DType::int32);
    std::ranges::transform(files.labels, labels.data<std::int32_t>().begin(),
                           [](std::int64_t label) { return static_cast<std::int32_t>(label); });
    return labels;
  }
  const std::size_t columns = label_mode == "binary" ? 1 : files.class_names.size();
  Tensor labels({count, static_cast<std::int64_t>(columns)});
  for (std::size_t i = 0; i < files.labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(files.labels[i]);
    if (label_mode == "binary")
      labels.data<float>()[i] = static_cast<float>(label);
    else
      labels.data<float>()[i * columns + label] = 1;
  }
  return labels;
}

}  // namespace etude
