#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/memory_vfs.hpp"
#include "etude/base/messages.hpp"
#include "etude/saving/detail/checkpoint_writes.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/format_functions.hpp"
#include "etude/saving/detail/model_state.hpp"
#include "etude/saving/detail/save_model.hpp"
#include "etude/saving/detail/tf_weights.hpp"
#include "etude/saving/detail/weights_file.hpp"

// Implements Model::save_weights and Model::load_weights.
namespace etude {
namespace {

/// Files in memory, and one whose bytes belong to others.
class BorrowedFile : public MemoryVfs {
 public:
  BorrowedFile(std::string name, std::span<const std::byte> bytes) : name_(std::move(name)), bytes_(bytes) {}

  std::vector<std::byte> read(const std::string& path) override {
    return path == name_ ? std::vector(bytes_.begin(), bytes_.end()) : MemoryVfs::read(path);
  }
  std::uint64_t size(const std::string& path) override { return path == name_ ? bytes_.size() : MemoryVfs::size(path); }
  std::unique_ptr<FileSource> source(const std::string& path) override {
    if (path != name_) return MemoryVfs::source(path);
    return std::make_unique<MemorySource>(bytes_, nullptr);
  }
  PathKind kind(const std::string& path) override { return path == name_ ? PathKind::file : MemoryVfs::kind(path); }

 private:
  const std::string name_;
  const std::span<const std::byte> bytes_;
};

/// The first names of a list, in quotes.
std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i ? ", \"" : "\"") + names[i] + '"';
  return names.size() > most ? text + ", and " + std::to_string(names.size() - most) + " more" : text;
}

bool matches(const std::string& pattern, const std::string& name, const std::string& where) {
  check(host().search != nullptr, ErrorKind::state, where,
        "a host without regular expressions - expected one that has them - load the file without transpose.");
  try {
    return host().search(pattern, name);
  } catch (const std::invalid_argument& error) {
    fail(ErrorKind::value, where, "transpose = \"", pattern, "\": ", error.what(),
         " - expected a regular expression - check its brackets and backslashes.");
  }
}

/// The tensors of a file under the names of the model's weights, with kernels in Keras's order of axes. With
/// skip_mismatch, others are left out, also those of dtypes that Étude lacks.
std::vector<StoredTensor> mapped_weights(const WeightsFile& file, const std::vector<NamedVariable>& weights,
                                         const LoadWeightsOptions& options, const std::string& where) {
  const auto names_in = functions_of(file.format).weight_names;
  std::function<std::string(const std::string&)> name_of;
  if (names_in && options.map.empty())
    name_of = names_in(file.text, file.path);
  else
    name_of = [&](const std::string& name) { return renamed(name, options.map, where); };
  std::set<std::string_view> known;
  for (const NamedVariable& weight : weights) known.insert(weight.name);
  if (options.skip_mismatch)
    name_of = [&known, any = std::move(name_of)](const std::string& name) {
      std::string result = any(name);
      return known.contains(result) ? result : std::string();
    };
  std::vector<StoredTensor> tensors = read_weights(file, where, name_of);
  std::map<std::string, std::string> origins;
  for (StoredTensor& tensor : tensors) {
    if (!options.transpose.empty() && matches(options.transpose, tensor.name, where))
      tensor = as_keras_kernel(std::move(tensor), where);
    std::string name = name_of(tensor.name);
    const auto [origin, is_new] = origins.emplace(name, tensor.name);
    check(is_new, ErrorKind::data, where, '"', origin->second, "\" and \"", tensor.name, "\" are both named \"", name,
          "\" - expected one tensor of a name - change the rules of `map`.");
    tensor.name = std::move(name);
  }
  return tensors;
}

/// Names in one list that the other lacks, in order.
template <class First, class Second>
std::vector<std::string> missing_in(const std::vector<First>& names, const std::vector<Second>& others) {
  std::set<std::string_view> known;
  for (const Second& other : others) known.insert(other.name);
  std::vector<std::string> result;
  for (const First& each : names)
    if (!known.contains(each.name)) result.push_back(each.name);
  return result;
}

/// Removes from both lists entries without a counterpart of the same name and shape, and warns about the weights.
void keep_matching(std::vector<NamedVariable>& weights, std::vector<StoredTensor>& tensors, const std::string& where) {
  std::map<std::string_view, const Shape*> by_name;
  for (const StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor.shape);
  std::vector<std::string> kept;
  std::vector<NamedVariable> matching;
  for (const NamedVariable& weight : weights) {
    const auto found = by_name.find(weight.name);
    if (found != by_name.end() && *found->second == weight.variable.shape())
      matching.push_back(weight);
    else
      kept.push_back(weight.name);
  }
  if (!kept.empty())
    print_warning({}, '[' + where + "] the file has no tensors of the same names and shapes for " + first_names(kept) +
                          "; they keep their values.");
  std::set<std::string> names;
  for (const NamedVariable& weight : matching) names.insert(weight.name);
  std::erase_if(tensors, [&](const StoredTensor& tensor) { return !names.contains(tensor.name); });
  weights = std::move(matching);
}

/// Checks that both lists have the same names. With skip_mismatch it keeps the entries of both lists instead.
void match(std::vector<NamedVariable>& weights, std::vector<StoredTensor>& tensors, const LoadWeightsOptions& options,
           const std::string& where) {
  if (options.skip_mismatch) return keep_matching(weights, tensors, where);
  const std::vector<std::string> missing = missing_in(weights, tensors), others = missing_in(tensors, weights);
  check(others.empty() || !missing.empty(), ErrorKind::data, where, "tensors ", first_names(others),
        " beside those of the model's ", weights.size(),
        " weights - expected no others - leave them out by a rule of `map` that renames them to \"\".");
  check(missing.empty() || others.empty(), ErrorKind::data, where, "no tensors ", first_names(missing), " but ",
        first_names(others), " - expected the names of the model's ", weights.size(),
        " weights - load the file into a model of the same layers, or rename its tensors by `map`.");
}

}  // namespace

void check_is_weights_file(const std::string& path, std::string_view where) {
  check_is_path(path, where);
  const bool known = path.ends_with(".safetensors") || path.ends_with(".npz") || path.ends_with(".weights.h5");
  check(known, ErrorKind::value, where, '"', path,
        "\" - expected a name that ends with .safetensors, .npz or .weights.h5, the formats of weights - change the "
        "name.");
}

void save_weights(const Model& model, const std::string& path, const SaveOptions& options) {
  check_is_weights_file(path, "save_weights");
  check_built(model, "save_weights");
  check_may_write(path, options, "save_weights");
  const CheckpointWriteTimer timer;
  WriteCount count(options.progress);
  if (path.ends_with(".weights.h5"))
    functions_of(FileFormat::hdf5).save_weights(model, path, count);
  else
    write_weights(path, stored_values_of(named_weights(model), &count));
  count.finish();
}

std::shared_ptr<Vfs> files_with(const std::string& name, std::span<const std::byte> bytes) {
  return std::make_shared<BorrowedFile>(name, bytes);
}

void load_weights(Model& model, std::span<const std::byte> bytes, const LoadWeightsOptions& options) {
  const FilesScope scope(files_with("weights", bytes));
  LoadWeightsOptions rest = options;
  rest.files = nullptr;
  load_weights(model, "weights", rest);
}

void load_weights(Model& model, const std::string& path, const LoadWeightsOptions& options) {
  load_weights_task(model, path, options).get();
}

Task<> load_weights_task(Model& model, std::string path, LoadWeightsOptions options) {
  check_is_path(path, "load_weights");
  Reading reading(vfs_or_host(options.files, "load_weights"), options.progress);
  WeightsFile file;
  auto looking = [&] { file = find_weights(path, *reading.files()); };
  co_await reading.run(looking);
  check(model.built() || file.format != FileFormat::hdf5, ErrorKind::state, "load_weights",
        "Unable to load weights saved in HDF5 format into a subclassed Model which has not created its variables yet",
        " - expected \"", model.name(), "\" to be built - call the model first, then load the weights.");
  check_built(model, "load_weights");
  if (const auto load = functions_of(file.format).load_weights) {
    co_await load(model, path, options, reading);
    co_return;
  }
  check(!options.by_name || file.format != FileFormat::tf_checkpoint, ErrorKind::value, "load_weights",
        "Weights may only be loaded based on topology into Models when loading TensorFlow-formatted weights",
        " - expected by_name for an .h5 file of Keras 2, not for \"", path, "\" - leave it out.");
  check(!options.by_name, ErrorKind::value, "load_weights", '"', path,
        "\" by_name - expected an .h5 file of Keras 2 - leave it out.");
  if (file.format == FileFormat::tf_checkpoint) {
    load_tf_checkpoint(model, path, options, reading);
    co_return;
  }
  const std::string where = spelled("load_weights \"") + path + '"';
  std::vector<NamedVariable> weights = named_weights(model);
  std::vector<StoredTensor> tensors;
  auto finding = [&] { tensors = mapped_weights(file, weights, options, where); };
  co_await reading.run(finding);
  match(weights, tensors, options, where);
  co_await assign_all(std::move(weights), std::move(tensors), where, reading);
}

}  // namespace etude
