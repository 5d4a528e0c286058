#include "etude/classes/class_table.hpp"
#include "etude/saving/config.hpp"
#include "etude/saving/detail/config_fields.hpp"
#include "etude/saving/detail/keras_form.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/object_parts.hpp"
#include "etude/saving/detail/shared_objects.hpp"

namespace etude {
namespace {

/// An object of any kind, without its C++ type. Functions by address would keep JSON in the core of a page's module:
/// the optimizer merges those that are alike.
struct Saved {
  const ClassTable& table;
  const void* object;
  const Description& description;
  const Layer* layer = nullptr;
  const Optimizer* optimizer = nullptr;
  const std::string* name = nullptr;
};
template <class T> Saved saved(const T& object) {
  Saved result{class_table<T>(), &object, object.description()};
  if constexpr (std::is_same_v<T, Layer>) result.layer = &object;
  if constexpr (std::is_same_v<T, Optimizer>) result.optimizer = &object;
  if constexpr (requires { object.name(); }) result.name = &object.name();
  return result;
}

/// Writes the changes since the object was created.
void update_config(const Saved& saved, Json& config) {
  if (saved.layer) {
    const Layer& layer = *saved.layer;
    config["name"] = layer.name();
    // Layers without variables do not have it as an option, but as a flag like all layers.
    if (config.contains("trainable") || !layer.trainable()) config["trainable"] = layer.trainable();
    if (config.contains("dtype")) config["dtype"] = layer.dtype_policy().name();
  } else if (saved.optimizer) {
    if (config.contains("learning_rate") && config["learning_rate"].is_number())
      config["learning_rate"] = saved.optimizer->learning_rate();
  } else {
    if (saved.name && config.contains("name")) config["name"] = *saved.name;
    // In Keras the default of these is None, where ours is empty.
    for (const char* option : {"dtype", "input_axes", "output_axes"})
      if (const auto found = config.find(option); found != config.end() && (found->empty() || *found == ""))
        config.erase(found);
  }
}

/// Keras writes initializers, regularizers, constraints and optimizers as objects, also those that were given by name.
template <class T> void name_to_object(FieldType type, Json& value) {
  if (type == field_type<Choice<T>> && value.is_string())
    value = object_to_json<T>(*make_of<T>(class_table<T>().named(value.get_ref<const std::string&>())));
}
void name_to_object(FieldType type, Json& value) {
  name_to_object<Initializer>(type, value);
  name_to_object<Regularizer>(type, value);
  name_to_object<Constraint>(type, value);
  name_to_object<Optimizer>(type, value);
  if (type == field_type<std::map<std::string, Choice<Optimizer>>>)
    for (Json& each : value) name_to_object<Optimizer>(field_type<Choice<Optimizer>>, each);
}

[[noreturn]] void fail_without_options(const Saved& saved) {
  std::string text = saved.name ? '"' + *saved.name + '"' : "an object";
  text += " of a class";
  if (saved.layer) text.append(" (").append(saved.layer->class_name()) += ')';
  fail(ErrorKind::value, saved.table.kind(), text,
       " that is not one of Étude's - expected one that can be created from its options - ",
       "declare `about` and Options and call register_class first, or save only the model's weights.");
}

Json saved_json(const Saved& saved) {
  if (custom_classes().describe)
    if (const auto custom = custom_classes().describe(saved.table, saved.object)) {
      Json config = parse_json(custom->config, "config");
      if (saved.layer && !saved.layer->trainable()) config["trainable"] = false;
      return custom_object(custom->class_name, custom->registered_name, std::move(config));
    }
  if (saved.description.empty()) fail_without_options(saved);
  const ClassEntry& entry = saved.description.entry();
  const std::string registered_name = saved.table.registered_name(entry);
  check(!registered_name.empty() || saved.table.find(entry.class_name) == &entry, ErrorKind::value, saved.table.kind(),
        "an object of the class ", entry.class_name,
        ", which is not registered - expected a class of a registered name - call register_class<", entry.class_name,
        ">() first.");
  Json config = config_of(entry.fields, saved.description.options(), entry.class_name);
  update_config(saved, config);
  if (!registered_name.empty()) return custom_object(entry.class_name, registered_name, std::move(config));
  if (saved.layer && config.contains("dtype")) config["dtype"] = policy_json(saved.layer->dtype_policy().name());
  // The kernels of RandomFourierFeatures have names of their own.
  if (entry.class_name != std::string_view("RandomFourierFeatures"))
    for (const Field& field : entry.fields)
      if (const auto found = config.find(field.name); found != config.end()) name_to_object(field.type, *found);
  return keras_object(saved.table.kind(), entry.class_name, std::move(config));
}

/// The class of an object in JSON. Keras 2 calls some of Keras's classes "Custom>Adam".
const ClassEntry& entry_in(const Json& json, const ClassTable& table) {
  constexpr std::string_view package = "Custom>";
  const std::string& class_name = class_name_in(json);
  const std::string registered_name = registered_name_in(json);
  if (registered_name.empty() && class_name.starts_with(package))
    if (const ClassEntry* entry = table.find(std::string_view(class_name).substr(package.size()))) return *entry;
  if (registered_name.empty()) return table.of_class(class_name);
  const ClassEntry* entry = table.registered(registered_name);
  const std::size_t end = registered_name.find('>');
  const std::string name = registered_name.substr(end + 1);
  check(entry != nullptr, ErrorKind::value, table.kind(), "the class \"", registered_name,
        "\", which is not registered - expected a class of a registered name - call register_class<", class_name,
        ">(\"", registered_name.substr(0, end), name == class_name ? "" : "\", \"", name == class_name ? "" : name,
        "\") first.");
  return *entry;
}

/// The object of `json`; `options` is its config, or what remains of it for the options of the class.
std::shared_ptr<void> make_from(const ClassTable& table, const Json& json, const Json& options) {
  const std::string& class_name = class_name_in(json);
  const std::string registered_name = registered_name_in(json);
  if (custom_classes().make && (!registered_name.empty() || !table.find(class_name)))
    if (auto object = custom_classes().make(table, {class_name, registered_name, json_text(config_in(json))}))
      return object;
  const ClassEntry& entry = entry_in(json, table);
  const auto read = entry.options();
  read_config(entry.fields, read.get(), entry.class_name, options);
  return entry.make(read.get());
}

}  // namespace

template <class T> Json object_to_json(const T& object) {
  if constexpr (std::is_same_v<T, Layer>) {
    const auto* model = dynamic_cast<const Model*>(&object);
    Json json = model ? model_to_json(*model) : saved_json(saved(object));
    if (const auto id = SharedLayers::id_of(object)) json["shared_object_id"] = *id;
    return json;
  }
  Json json = saved_json(saved(object));
  if constexpr (std::is_same_v<T, Optimizer>)
    if (const auto& scale = object.loss_scale())
      return keras_object("optimizer", "LossScaleOptimizer",
                          {{"inner_optimizer", std::move(json)},
                           {"initial_scale", scale->initial_scale()},
                           {"dynamic_growth_steps", scale->growth_steps()}});
  return json;
}

namespace {

/// Any layer may be frozen, including one without such an option.
LayerPtr layer_with_flag(const Json& json) {
  const std::string& class_name = class_name_in(json);
  Json options = config_in(json);
  bool trainable = true;
  read_field(options["trainable"], trainable, {class_name, "trainable"});
  options.erase("trainable");
  const auto layer = std::static_pointer_cast<Layer>(make_from(class_table<Layer>(), json, options));
  layer->set_own_trainable(trainable);
  return layer;
}

template <class T> std::shared_ptr<T> new_object(const Json& json) {
  const std::string& class_name = class_name_in(json);
  const Json& config = config_in(json);
  if constexpr (std::is_same_v<T, Layer>) {
    if (registered_name_in(json).empty() && is_model_class(class_name)) return model_from_json(json);
    if (config.contains("trainable")) return layer_with_flag(json);
  }
  return std::static_pointer_cast<T>(make_from(class_table<T>(), json, config));
}

}  // namespace

template <class T> std::shared_ptr<T> object_from_json(const Json& json) {
  const SharedObjects shared;
  if (auto object = shared.find(class_table<T>(), json)) return std::static_pointer_cast<T>(object);
  std::shared_ptr<T> object = new_object<T>(json);
  shared.add(class_table<T>(), json, object);
  return object;
}

template <class T> std::string to_json(const T& object, int indent) {
  if constexpr (std::is_same_v<T, Layer>)
    if (const auto* model = dynamic_cast<const Model*>(&object)) return json_text(compiled_to_json(*model), indent);
  return json_text(object_to_json<T>(object), indent);
}
template <class T> std::shared_ptr<T> from_json(std::string_view text) {
  const Json json = parse_json(text, "config");
  if constexpr (std::is_same_v<T, Layer>)
    if (describes_model(json)) return compiled_from_json(json);
  return object_from_json<T>(json);
}
template <class T> std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (const ClassEntry* entry : class_table<T>().entries()) names.emplace_back(entry->class_name);
  return names;
}

// Instantiations for other files.
template std::string to_json(const Layer&, int);
template std::shared_ptr<Layer> from_json(std::string_view);
template std::vector<std::string> class_names<Layer>();
template Json object_to_json(const Layer&);
template std::shared_ptr<Layer> object_from_json(const Json&);
template std::string to_json(const Loss&, int);
template std::shared_ptr<Loss> from_json(std::string_view);
template std::vector<std::string> class_names<Loss>();
template Json object_to_json(const Loss&);
template std::shared_ptr<Loss> object_from_json(const Json&);
template std::string to_json(const Metric&, int);
template std::shared_ptr<Metric> from_json(std::string_view);
template std::vector<std::string> class_names<Metric>();
template Json object_to_json(const Metric&);
template std::shared_ptr<Metric> object_from_json(const Json&);
template std::string to_json(const Optimizer&, int);
template std::shared_ptr<Optimizer> from_json(std::string_view);
template std::vector<std::string> class_names<Optimizer>();
template Json object_to_json(const Optimizer&);
template std::shared_ptr<Optimizer> object_from_json(const Json&);
template std::string to_json(const LearningRateSchedule&, int);
template std::shared_ptr<LearningRateSchedule> from_json(std::string_view);
template std::vector<std::string> class_names<LearningRateSchedule>();
template Json object_to_json(const LearningRateSchedule&);
template std::shared_ptr<LearningRateSchedule> object_from_json(const Json&);
template std::string to_json(const Initializer&, int);
template std::shared_ptr<Initializer> from_json(std::string_view);
template std::vector<std::string> class_names<Initializer>();
template Json object_to_json(const Initializer&);
template std::shared_ptr<Initializer> object_from_json(const Json&);
template std::string to_json(const Regularizer&, int);
template std::shared_ptr<Regularizer> from_json(std::string_view);
template std::vector<std::string> class_names<Regularizer>();
template Json object_to_json(const Regularizer&);
template std::shared_ptr<Regularizer> object_from_json(const Json&);
template std::string to_json(const Constraint&, int);
template std::shared_ptr<Constraint> from_json(std::string_view);
template std::vector<std::string> class_names<Constraint>();
template Json object_to_json(const Constraint&);
template std::shared_ptr<Constraint> object_from_json(const Json&);

}  // namespace etude
