#include "etude/saving/detail/tf_weights.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/messages.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/keras_optimizer.hpp"
#include "etude/saving/detail/keras_weights.hpp"
#include "etude/saving/detail/tf_bundle.hpp"
#include "etude/saving/detail/tf_object_graph.hpp"
#include "etude/saving/detail/tf_optimizer.hpp"

namespace etude {
namespace {

#ifdef ETUDE_TF_CHECKPOINTS

constexpr std::size_t longest_list = 200;  // of names in errors
constexpr const char* graph_name = "_CHECKPOINTABLE_OBJECT_GRAPH";

/// A variable, and the name of its value in the checkpoint.
struct Match {
  Variable variable;
  std::string key;
  const Layer* layer;
  std::uint32_t object;
};

/// Finds the values of a model's variables. A failure throws, or adds the layer's name to `skipped`.
class Matcher {
 public:
  Matcher(const TfObjectGraph& graph, std::string_view where, std::vector<std::string>* skipped)
      : graph_(graph), where_(where), skipped_(skipped) {}

  std::vector<Match> matches;

  void visit(const Layer& layer, std::uint32_t object, const std::string& place) {
    if (!seen_.insert(&layer).second) return;
    add_variables(layer, object, place);
    const std::vector<LayerPtr> inside = layer.layers();
    const std::string_view attribute = attribute_of(layer.class_name(), "");
    if (attribute.empty()) return visit_list(layer, inside, object, place);
    if (!inside.empty()) visit_attribute(*inside.front(), object, attribute, place);
    if (attribute == "forward_layer" && inside.size() > 1) visit_attribute(*inside[1], object, "backward_layer", place);
  }

  void skip_or_fail(const Layer& layer, const std::string& fault) {
    check(skipped_ != nullptr, ErrorKind::data, where_, fault,
          " - load it into a model of the same layers, or pass skip_mismatch.");
    if (std::ranges::find(*skipped_, layer.name()) == skipped_->end()) skipped_->push_back(layer.name());
  }

 private:
  void visit_list(const Layer& layer, std::vector<LayerPtr> inside, std::uint32_t object, const std::string& place) {
    std::erase_if(inside, [](const LayerPtr& each) { return each->is_operation() || each->weights().empty(); });
    if (inside.empty()) return;
    const std::vector<std::uint32_t> objects = graph_.layers_of(object);
    if (objects.size() != inside.size())
      return skip_or_fail(layer, std::to_string(objects.size()) + " layers with weights in the checkpoint" +
                                     (place.empty() ? "" : " at \"" + place + '"') + " - expected " +
                                     std::to_string(inside.size()) + ", as many as \"" + layer.name() + "\" has");
    for (std::size_t i = 0; i < inside.size(); ++i)
      visit(*inside[i], objects[i], place + (place.empty() ? "" : "/") + "layer_with_weights-" + std::to_string(i));
  }

  void visit_attribute(const Layer& layer, std::uint32_t object, std::string_view attribute, const std::string& place) {
    const std::string path = place + '/' + std::string(attribute);
    if (const auto child = graph_.child(object, attribute)) return visit(layer, *child, path);
    skip_or_fail(layer, "nothing at \"" + path + "\" in the checkpoint - expected the layer \"" + layer.name() + '"');
  }

  /// The layer's variables; those of its parts are in objects of their own.
  void add_variables(const Layer& layer, std::uint32_t object, const std::string& place) {
    const std::size_t before = matches.size();
    std::set<std::uint32_t> taken;
    std::string expected;
    bool complete = true;
    for (const Variable& variable : layer.own_weights()) {
      std::string_view name = variable.name();
      if (name.starts_with(layer.name() + '/')) name.remove_prefix(layer.name().size() + 1);
      const std::size_t end = name.rfind('/');
      std::optional<std::uint32_t> owner = object;
      if (end != name.npos) {
        const std::string_view part = name.substr(0, end), attribute = attribute_of(layer.class_name(), part);
        owner = graph_.child(object, attribute.empty() ? part : attribute);
      }
      const std::string_view leaf = name.substr(end + 1);
      const auto found = owner ? variable_of(*owner, leaf) : std::nullopt;
      expected += (expected.empty() ? "" : ", ") + std::string(name);
      complete = complete && found;
      if (found) matches.push_back({variable, std::string(graph_.object(*found).key), &layer, *found});
      if (found) taken.insert(*found);
    }
    const std::string others = names_of_others(layer, object, taken);
    if (complete && others.empty()) return;
    matches.resize(before);
    const std::string has = names_of_others(layer, object, {});
    skip_or_fail(layer, (has.empty() ? "no variables" : "variables " + has) + " at \"" + place +
                            "\" in the checkpoint - expected " + (expected.empty() ? "none" : expected) +
                            ", those of the layer \"" + layer.name() + '"');
  }

  /// A variable under the name that Keras 3 gives it, or the one of tf.keras: "depthwise_kernel" of "kernel".
  std::optional<std::uint32_t> variable_of(std::uint32_t object, std::string_view name) const {
    for (const std::string& each : {std::string(name), "depthwise_" + std::string(name)})
      if (const auto child = graph_.child(object, each); child && !graph_.object(*child).key.empty()) return child;
    return {};
  }

  /// The variables of an object that are not taken, without those that a layer only refers to or does not use.
  std::string names_of_others(const Layer& layer, std::uint32_t object, const std::set<std::uint32_t>& taken) const {
    std::string names;
    if (layer.class_name() == "SpectralNormalization") return names;
    for (const TfObjectGraph::Child& child : graph_.object(object).children)
      if (!graph_.object(child.object).key.empty() && !taken.contains(child.object) && child.name != "count" &&
          child.name != "save_counter" && names.size() < longest_list)
        names += (names.empty() ? "" : ", ") + std::string(child.name);
    return names;
  }

  const TfObjectGraph& graph_;
  std::string_view where_;
  std::vector<std::string>* skipped_;
  std::set<const Layer*> seen_;
};

/// Leaves out the layers of the matches for which `fault_of` has a text, or throws it.
void leave_out(Matcher& matcher, const std::function<std::string(const Match&)>& fault_of) {
  std::set<const Layer*> wrong;
  for (const Match& match : matcher.matches) {
    const std::string fault = fault_of(match);
    if (fault.empty()) continue;
    matcher.skip_or_fail(*match.layer, fault);
    wrong.insert(match.layer);
  }
  std::erase_if(matcher.matches, [&](const Match& match) { return wrong.contains(match.layer); });
}

void warn_of_skipped(const std::vector<std::string>& skipped, const std::string& where) {
  if (skipped.empty()) return;
  std::string names;
  for (const std::string& name : skipped) names += (names.empty() ? "\"" : ", \"") + name + '"';
  print_warning(
      {}, '[' + where + "] these layers have other weights in the checkpoint, and keep their values: " + names + '.');
}

/// A variable, and the place of its value in the checkpoint.
struct StoredValue {
  Variable variable;
  std::string key;
  TfEntry entry;

  Tensor read(TfBundle& bundle) const { return bundle.read(key, entry).astype(variable.dtype()); }
};
using Values = std::vector<StoredValue>;

/// Sets them: all or none. One value is in memory at a time; all are read once before the first is set.
void assign_all(const Values& values, TfBundle& bundle, Reading& reading) {
  // Variables without a value are not checked in advance.
  const auto is_read_before = [](const StoredValue& each) { return each.variable.replicas() > 0; };
  std::uint64_t all = 0;
  for (const StoredValue& each : values) all += bytes_of(each.variable) * (is_read_before(each) ? 2 : 1);
  ReadCount count(reading, all);
  for (const StoredValue& each : values) {
    if (!is_read_before(each)) continue;
    static_cast<void>(each.read(bundle));
    count.add(bytes_of(each.variable));
  }
  for (const StoredValue& each : values) {
    Variable variable = each.variable;
    variable.assign(each.read(bundle));
    count.add(bytes_of(variable));
  }
}

/// Adds the state of the model's optimizer. Warns if the checkpoint has the state of another one.
void add_optimizer(Model& model, const TfObjectGraph& graph, const std::vector<Match>& matches, TfBundle& bundle,
                   const std::string& where, Values& values) {
  const auto object = graph.optimizer();
  if (!model.compiled() || !object || !graph.object(*object).has_values) return;
  Optimizer& optimizer = model.optimizer();
  const std::vector<Variable> trained = model.trainable_variables();
  optimizer.build(trained);
  TfObjects objects;
  for (const Match& match : matches) objects.emplace(match.variable.id(), match.object);
  const auto found = find_tf_optimizer(graph, *object, optimizer, trained, objects);
  std::set<std::string, std::less<>> keys;
  if (found)
    for (const TfVariable& each : *found) keys.insert(each.key);
  const std::map<std::string, TfEntry> entries = bundle.find(keys);
  const auto fits = [&](const TfVariable& each) {
    const auto entry = entries.find(each.key);
    return entry != entries.end() && entry->second.shape == each.variable.shape();
  };
  if (!found || !std::ranges::all_of(*found, fits))
    return print_warning({}, '[' + where + "] the state of the optimizer \"" + optimizer.name() +
                                 "\" is not restored: the checkpoint has other variables than it. It keeps its own.");
  for (const TfVariable& each : *found) values.push_back({each.variable, each.key, entries.at(each.key)});
}

/// Computes the part of Nadam's state that a checkpoint of Keras 2 lacks, after the rest was loaded.
void complete_optimizer(const Model& model, const Values& values) {
  if (!model.compiled()) return;
  const std::vector<Variable> variables = model.optimizer().keras_variables();
  const auto has = [&](const Variable& variable) {
    return std::ranges::any_of(values, [&](const auto& each) { return each.variable.id() == variable.id(); });
  };
  if (ends_with_product(variables) && has(variables.front()) && !has(variables.back()))
    compute_product(model.optimizer());
}

#endif

}  // namespace

#ifndef ETUDE_TF_CHECKPOINTS

void load_tf_checkpoint(Model&, const std::string& path, const LoadWeightsOptions&, Reading&) {
  refuse_format(FileFormat::tf_checkpoint, path, "load_weights \"" + path + '"', "another format");
}

#else

void load_tf_checkpoint(Model& model, const std::string& path, const LoadWeightsOptions& options, Reading& reading) {
  const std::string where = "load_weights \"" + path + '"';
  check(options.map.empty() && options.transpose.empty(), ErrorKind::value, where,
        "map or transpose - expected neither for a checkpoint of TensorFlow, whose layers are found by their places - "
        "leave them out.");
  const std::shared_ptr<Vfs>& files = reading.files();
  check(files->kind(path) != PathKind::folder, ErrorKind::value, where,
        "a folder - expected the common beginning of the names of a checkpoint's files, such as \"folder/ckpt\" - add "
        "it to the path.");
  constexpr std::string_view ending = ".index";
  TfBundle bundle(path.ends_with(ending) ? path.substr(0, path.size() - ending.size()) : path, *files);
  const auto graph_entry = bundle.find({graph_name});
  check(!graph_entry.empty(), ErrorKind::data, where,
        "a checkpoint without objects - expected one of tf.keras or tf.train.Checkpoint - save it by one of them.");
  const TfObjectGraph graph(bundle.text(graph_name, graph_entry.begin()->second), where);
  std::vector<std::string> skipped;
  Matcher matcher(graph, where, options.skip_mismatch ? &skipped : nullptr);
  matcher.visit(model, graph.model(), "");
  std::set<std::string, std::less<>> keys;
  for (const Match& match : matcher.matches) keys.insert(match.key);
  const std::map<std::string, TfEntry> entries = bundle.find(keys);
  leave_out(matcher, [&](const Match& match) -> std::string {
    const auto found = entries.find(match.key);
    check(found != entries.end(), ErrorKind::data, where, "no value of \"", match.key,
          "\" - expected one for each object - copy the checkpoint again.");
    if (found->second.shape == match.variable.shape()) return "";
    return '"' + match.key.substr(0, match.key.find("/.ATTRIBUTES")) + "\" has shape " +
           found->second.shape.to_string() + " in the checkpoint - expected " + match.variable.shape().to_string() +
           ", that of \"" + match.variable.name() + '"';
  });
  warn_of_skipped(skipped, where);
  Values values;
  for (const Match& match : matcher.matches) values.push_back({match.variable, match.key, entries.at(match.key)});
  add_optimizer(model, graph, matcher.matches, bundle, where, values);
  assign_all(values, bundle, reading);
  complete_optimizer(model, values);
}

#endif

}  // namespace etude
