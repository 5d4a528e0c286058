#include "etude/saving/detail/keras_store.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "etude/base/error.hpp"

namespace etude {
namespace {

constexpr std::string_view list = "layers/";
/// The list in files of Keras 2.13 to 3.0.
constexpr std::string_view old_list = "_layer_checkpoint_dependencies/";

std::string dataset_path(const KerasWeights& group, std::size_t number) {
  return group.path + '/' + std::to_string(number);
}

std::string_view text_of(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.raw()), tensor.bytes()}; }

std::string shape_text(const Shape& shape) { return shape.to_string(); }

/// A dataset in a file.
struct Place {
  hdf5::Reader* file;
  std::string path;
};

/// Finds the datasets of variables. A failure throws, or adds the name of the layer or variable to `skipped`.
class Finder {
 public:
  Finder(std::string_view where, std::vector<std::string>* skipped) : where_(where), skipped_(skipped) {}

  std::vector<StoredVariable> found;

  /// The datasets at these places, one for each variable of the layer `name`.
  void add(const std::string& name, const std::vector<Place>& places, const std::vector<Variable>& variables) {
    std::vector<StoredVariable> stored;
    std::string fault = fault_of_number(name, places, variables);
    for (std::size_t i = 0; fault.empty() && i < places.size(); ++i) fault = add_one(places[i], variables[i], stored);
    if (!fault.empty()) return skip_or_fail(name, fault, true);
    std::ranges::move(stored, std::back_inserter(found));
  }

  /// The same of a file of Keras 2, as Keras loads it: a weight of another shape is left out alone. Another number of
  /// weights is an error unless layers are found by their names. Source: keras/src/legacy/saving/legacy_h5_format.py.
  void add_keras2(const std::string& name, const std::vector<Place>& places, const std::vector<Variable>& variables,
                  bool by_name) {
    const std::string fault = fault_of_number(name, places, variables);
    if (!fault.empty()) return skip_or_fail(name, fault, by_name);
    std::vector<StoredVariable> stored;
    std::vector<std::string> faults;
    for (std::size_t i = 0; i < places.size(); ++i) faults.push_back(add_one(places[i], variables[i], stored));
    // All was read before, so a step that is repeated because it waited for bytes adds nothing twice.
    for (std::size_t i = 0; i < places.size(); ++i)
      if (!faults[i].empty()) skip_or_fail(variables[i].name(), faults[i], true);
    std::ranges::move(stored, std::back_inserter(found));
  }

 private:
  static std::string fault_of_number(const std::string& name, const std::vector<Place>& places,
                                     const std::vector<Variable>& variables) {
    if (places.size() == variables.size()) return {};
    return "layer \"" + name + "\" has " + std::to_string(places.size()) + " tensors in the file - expected " +
           std::to_string(variables.size());
  }

  /// Adds the dataset for a variable to `stored`, or returns its fault.
  static std::string add_one(const Place& place, const Variable& variable, std::vector<StoredVariable>& stored) {
    hdf5::Dataset dataset = place.file->dataset(place.path);
    if (dataset.shape != variable.shape())
      return '"' + place.path + "\" has shape " + shape_text(dataset.shape) + " - expected " +
             shape_text(variable.shape());
    stored.push_back({variable, place.file, std::move(dataset)});
    return {};
  }

  void skip_or_fail(const std::string& name, const std::string& fault, bool may_skip) {
    check(skipped_ != nullptr && may_skip, ErrorKind::data, where_, fault,
          may_skip ? ", the shape of the model's weight - load it into the same model, or pass skip_mismatch."
                   : ", as many as the model's layer has - load it into the same model, or by_name.");
    skipped_->push_back(name);
  }

  std::string_view where_;
  std::vector<std::string>* skipped_;
};

bool is_number(const std::string& name) { return name.find_first_not_of("0123456789") == name.npos; }

/// The datasets of a group whose names are numbers from 0 on. Others, such as "idf_weights", belong to the vocabulary.
/// Several files may have some of them.
std::vector<Place> numbered_in(const std::vector<hdf5::Reader*>& files, const std::string& group) {
  std::vector<hdf5::Reader*> with_group;
  std::size_t count = 0;
  for (hdf5::Reader* file : files) {
    if (file->kind(group) != hdf5::ObjectKind::group) continue;
    with_group.push_back(file);
    count += static_cast<std::size_t>(std::ranges::count_if(file->list(group), is_number, &hdf5::Entry::name));
  }
  std::vector<Place> places;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string path = group + '/' + std::to_string(i);
    const auto found =
        std::ranges::find_if(with_group, [&](hdf5::Reader* file) { return file->kind(path).has_value(); });
    places.push_back({found == with_group.end() ? with_group.front() : *found, path});
  }
  return places;
}

/// The path in files of Keras 2.13 to 2.15, whose MultiHeadAttention has "_query_dense".
std::string private_keras_path(std::string path) {
  const std::size_t end = path.rfind("_dense/vars"), begin = path.rfind('/', end);
  if (end != path.npos && begin != path.npos) path.insert(begin + 1, 1, '_');
  return path;
}

/// The places of a group's variables, found for `finder`.
void find_group(Finder& finder, const std::vector<hdf5::Reader*>& files, const KerasWeights& group) {
  std::vector<Place> places = numbered_in(files, group.path);
  if (places.empty()) places = numbered_in(files, old_keras_path(group.path));
  if (places.empty()) places = numbered_in(files, private_keras_path(group.path));
  if (places.empty()) places = numbered_in(files, private_keras_path(old_keras_path(group.path)));
  if (group.is_counted && places.size() == group.variables.size() + 1) places.pop_back();
  // Boundaries are in the config, too.
  if (group.variables.empty() && group.layer && group.layer->class_name() == "Discretization") places.clear();
  finder.add(group.name, places, group.variables);
}

using Texts = std::vector<std::string>;

/// The most layers, and weights of all layers, that a file of Keras 2 may list.
constexpr std::size_t most_layers = 100'000, most_weights = 1'000'000;

/// The places of the weights of a layer in a file of Keras 2.
std::vector<Place> keras2_places(hdf5::Reader& file, const std::string& group) {
  std::vector<Place> places;
  for (const std::string& weight : file.texts(group, "weight_names").value_or(Texts()))
    places.push_back({&file, group + '/' + weight});
  return places;
}

bool is_counter(const Place& place) {
  const std::string_view name = std::string_view(place.path).substr(place.path.rfind('/') + 1);
  return name == "count" || name.starts_with("count:");
}

/// A layer's weights in the order of Keras 2: first those that are trained. Those of frozen layers inside it are not.
/// In a model, also in a frozen one, those come first that its layers train.
std::vector<Variable> keras2_weights(const Layer& layer) {
  const bool is_model = dynamic_cast<const Model*>(&layer) && layer.own_weights().empty();
  std::vector<Variable> weights;
  std::set<const void*> trained, known;
  const auto add = [&](const Layer& inner, const std::vector<Variable>& of_inner) {
    for (const Variable& each : inner.trainable_variables()) trained.insert(each.id());
    for (const Variable& each : of_inner)
      if (known.insert(each.id()).second) weights.push_back(each);
  };
  if (!is_model) add(layer, layer.weights());
  for (const LayerPtr& inner : is_model ? layer.layers() : std::vector<LayerPtr>()) add(*inner, keras2_weights(*inner));
  std::ranges::stable_partition(weights, [&](const Variable& each) { return trained.contains(each.id()); });
  return weights;
}

/// A layer, and the places of its weights.
struct Pair {
  LayerPtr layer;
  std::vector<Place>* places;
};

/// The layers of a model and those of a file of Keras 2, in pairs: of the same name, or else at the same place.
std::vector<Pair> keras2_pairs(std::vector<std::pair<std::string, std::vector<Place>>>& stored, const Model& model,
                               bool by_name, std::string_view where) {
  std::vector<LayerPtr> layers = model.layers();
  std::erase_if(layers, [](const LayerPtr& layer) { return layer->weights().empty(); });
  check(by_name || stored.size() == layers.size(), ErrorKind::data, where, stored.size(),
        " layers with weights in the file - expected ", layers.size(),
        ", as many as in the model - load it into the same model, or by_name.");
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < stored.size(); ++i)
    for (std::size_t k = by_name ? 0 : i; k < (by_name ? layers.size() : i + 1); ++k)
      if (!by_name || layers[k]->name() == stored[i].first) pairs.push_back({layers[k], &stored[i].second});
  return pairs;
}

}  // namespace

void write_keras_groups(std::span<const KerasWeights> groups, const std::function<void(std::uint64_t size)>& begin,
                        const std::function<void(std::string_view bytes)>& append, WriteCount& count) {
  hdf5::Writer writer;
  const Tensor counter = Tensor({}, DType::int32);
  for (const KerasWeights& group : groups) {
    writer.group(group.path);
    writer.text(group.path, "name", group.name);
    std::size_t number = 0;
    for (const Variable& variable : group.variables) {
      count.expect(bytes_of(variable));
      writer.dataset(dataset_path(group, number++), hdf5::number_of(variable.dtype()), variable.shape());
    }
    if (group.is_counted) writer.dataset(dataset_path(group, number), hdf5::Number::int32, {});
    if (group.idf_weights)
      writer.dataset(group.path + "/idf_weights", hdf5::Number::float32, group.idf_weights->shape());
  }
  begin(writer.size());
  writer.start(append);
  for (const KerasWeights& group : groups) {
    for (const Variable& variable : group.variables) {
      count.begin(bytes_of(variable));
      writer.append(std::as_bytes(std::span(text_of(variable.value()))));
    }
    if (group.is_counted) writer.append(std::as_bytes(std::span(text_of(counter))));
    if (group.idf_weights) writer.append(std::as_bytes(std::span(text_of(*group.idf_weights))));
  }
  writer.finish();
}

Task<std::vector<StoredVariable>> find_keras_groups(FilesOfGroup files, std::span<const KerasWeights> groups,
                                                    std::string_view where, std::vector<std::string>* skipped,
                                                    Reading& reading) {
  Finder finder(where, skipped);
  for (const KerasWeights& group : groups) {
    auto step = [&] { find_group(finder, files(group.path), group); };
    co_await reading.run(step);
  }
  co_return std::move(finder.found);
}

Task<std::vector<StoredVariable>> find_keras_groups(hdf5::Reader& file, std::span<const KerasWeights> groups,
                                                    std::string_view where, std::vector<std::string>* skipped,
                                                    Reading& reading) {
  return find_keras_groups([&file](const std::string&) { return std::vector{&file}; }, groups, where, skipped, reading);
}

Task<std::vector<StoredVariable>> find_keras2_weights(hdf5::Reader& file, const Model& model, bool by_name,
                                                      std::string_view where, std::vector<std::string>* skipped,
                                                      Reading& reading) {
  std::string root;
  Texts names;
  auto listing = [&] {
    root = file.kind("model_weights") == hdf5::ObjectKind::group ? "model_weights" : "";
    names = file.texts(root, "layer_names").value_or(Texts());
  };
  co_await reading.run(listing);
  const auto expect = [&](bool fits) {
    check(fits, ErrorKind::data, where, "lists of more than ", most_layers, " layers or ", most_weights,
          " weights - expected fewer - the file is damaged.");
  };
  expect(names.size() <= most_layers);
  std::vector<std::pair<std::string, std::vector<Place>>> stored;
  std::size_t weights = 0;
  for (const std::string& name : names) {
    std::vector<Place> places;
    auto step = [&] { places = keras2_places(file, root.empty() ? name : root + '/' + name); };
    co_await reading.run(step);
    weights += places.size();
    expect(weights <= most_weights);
    if (!places.empty()) stored.emplace_back(name, std::move(places));
  }
  Finder finder(where, skipped);
  for (const Pair& pair : keras2_pairs(stored, model, by_name, where)) {
    auto step = [&] {
      const std::vector<Variable> variables = keras2_weights(*pair.layer);
      // Those of an adapted Normalization, which a trained layer does not use.
      if (pair.places->size() > variables.size()) std::erase_if(*pair.places, is_counter);
      finder.add_keras2(pair.layer->name(), *pair.places, variables, by_name);
    };
    co_await reading.run(step);
  }
  co_return std::move(finder.found);
}

bool is_keras2(hdf5::Reader& file) {
  return file.kind("model_weights").has_value() || std::ranges::count(file.attributes(""), "layer_names") > 0 ||
         std::ranges::count(file.attributes(""), "layer_names0") > 0;
}

Task<> assign_stored(std::vector<StoredVariable> stored, Reading& reading) {
  // All datasets are read once before the first variable is set, so that a damaged file changes no variable. Variables
  // without a value are not checked in advance.
  std::uint64_t all = 0;
  for (const StoredVariable& each : stored) all += bytes_of(each.variable) * (each.variable.replicas() > 0 ? 2 : 1);
  ReadCount count(reading, all);
  for (const StoredVariable& each : stored) {
    if (each.variable.replicas() == 0) continue;
    auto step = [&] { static_cast<void>(each.file->read(each.dataset, each.variable.dtype())); };
    co_await reading.run(step);
    count.add(bytes_of(each.variable));
  }
  for (StoredVariable& each : stored) {
    auto step = [&] { each.variable.assign(each.file->read(each.dataset, each.variable.dtype())); };
    co_await reading.run(step);
    count.add(bytes_of(each.variable));
  }
}

std::string old_keras_path(std::string path) {
  for (std::size_t at = path.find(list); at != path.npos; at = path.find(list, at + old_list.size()))
    if (at == 0 || path[at - 1] == '/') path.replace(at, list.size(), old_list);
  return path;
}

}  // namespace etude
