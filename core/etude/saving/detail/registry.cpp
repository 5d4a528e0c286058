#include "etude/saving/detail/registry.hpp"

#include "etude/classes/register_class.hpp"
#include "etude/saving/config.hpp"
#include "etude/saving/detail/model_config.hpp"

namespace etude {

const std::string& class_name_in(const Json& json) {
  const bool named = json.is_object() && json.contains("class_name") && json["class_name"].is_string();
  check(named, ErrorKind::data, "config", json_text(json).substr(0, 80),
        " - expected {\"class_name\": …, \"config\": {…}} - check the text.");
  return json["class_name"].get_ref<const std::string&>();
}

std::string registered_name_in(const Json& json) {
  const auto found = json.find("registered_name");
  if (found == json.end() || !found->is_string()) return "";
  const auto& name = found->get_ref<const std::string&>();
  return is_registered_name(name) ? name : "";
}

const Json& config_in(const Json& json) {
  static const Json none = Json::object();
  if (!json.contains("config")) return none;
  check(json["config"].is_object(), ErrorKind::data, class_name_in(json),
        "a config that is not an object: ", json_text(json["config"]).substr(0, 80),
        " - expected {\"class_name\": …, \"config\": {…}} - check the text.");
  return json["config"];
}

namespace {

/// Writes the changes since the object was created.
template <class T> void update_config(const T&, Json&) {}
void update_config(const Layer& layer, Json& config) {
  config["name"] = layer.name();
  // Layers without variables do not have it as an option, but as a flag like all layers.
  if (config.contains("trainable") || !layer.trainable()) config["trainable"] = layer.trainable();
  if (config.contains("dtype")) config["dtype"] = layer.dtype_policy().name();
}
void update_config(const Optimizer& optimizer, Json& config) {
  if (config.contains("learning_rate") && config["learning_rate"].is_number())
    config["learning_rate"] = optimizer.learning_rate();
}
void update_config(const Loss& loss, Json& config) {
  if (config.contains("name")) config["name"] = loss.name();
}
void update_config(const Metric& metric, Json& config) {
  if (config.contains("name")) config["name"] = metric.name();
}

Json config_of(const Description& description) {
  const ClassEntry& entry = description.entry();
  return config_of(entry.fields, description.options(), entry.class_name);
}

/// An object of a custom class, in Keras's form.
Json custom_json(std::string class_name, std::string registered_name, Json config) {
  return {{"module", nullptr},
          {"class_name", std::move(class_name)},
          {"config", std::move(config)},
          {"registered_name", std::move(registered_name)}};
}

/// What an error says of an object.
template <class T> std::string text_of(const T& object) {
  if constexpr (std::is_same_v<T, Layer>)
    return '"' + object.name() + "\" of a class (" + std::string(object.class_name()) + ')';
  else if constexpr (requires { object.name(); })
    return '"' + object.name() + "\" of a class";
  else
    return "an object of a class";
}

/// Throws Error(value) unless from_json can create objects of the class: it is Étude's, or has a registered name.
void check_is_known(const ClassTable& table, const ClassEntry& entry, const std::string& registered_name) {
  check(!registered_name.empty() || table.find(entry.class_name) == &entry, ErrorKind::value, table.kind(),
        "an object of the class ", entry.class_name,
        ", which is not registered - expected a class of a registered name - call register_class<", entry.class_name,
        ">() first.");
}

/// The class of an object in JSON.
const ClassEntry& entry_in(const Json& json, const ClassTable& table) {
  const std::string& class_name = class_name_in(json);
  const std::string registered_name = registered_name_in(json);
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

template <class T> std::shared_ptr<T> make_from(const ClassEntry& entry, const Json& config) {
  const auto options = entry.options();
  read_config(entry.fields, options.get(), entry.class_name, config);
  return make_of<T>(entry, options.get());
}

}  // namespace

template <class T> Json object_to_json(const T& object) {
  if constexpr (std::is_same_v<T, Layer>)
    if (const auto* model = dynamic_cast<const Model*>(&object)) return model_to_json(*model);
  if (custom_classes<T>.describe)
    if (auto custom = custom_classes<T>.describe(object))
      return custom_json(custom->class_name, custom->registered_name, parse_json(custom->config, "config"));
  const ClassTable& table = class_table<T>();
  const Description& description = object.description();
  check(!description.empty(), ErrorKind::value, table.kind(), text_of(object),
        " that is not one of Étude's - expected one that can be created from its options - ",
        "declare `about` and Options and call register_class first, or save only the model's weights.");
  const std::string registered_name = table.registered_name(description.entry());
  check_is_known(table, description.entry(), registered_name);
  Json config = config_of(description);
  update_config(object, config);
  Json json = registered_name.empty() ? Json{{"class_name", description.class_name()}, {"config", std::move(config)}}
                                      : custom_json(description.entry().class_name, registered_name, std::move(config));
  if constexpr (std::is_same_v<T, Optimizer>)
    if (const auto& scale = object.loss_scale())
      return {{"class_name", "LossScaleOptimizer"},
              {"config",
               {{"inner_optimizer", std::move(json)},
                {"initial_scale", scale->initial_scale()},
                {"dynamic_growth_steps", scale->growth_steps()}}}};
  return json;
}

namespace {

/// Any layer may be frozen, including one without such an option.
LayerPtr layer_with_flag(const ClassEntry& entry, const Json& config) {
  Json options = config;
  options.erase("trainable");
  bool trainable = true;
  read_field(config["trainable"], trainable, {entry.class_name, "trainable"});
  const LayerPtr layer = make_from<Layer>(entry, options);
  layer->set_own_trainable(trainable);
  return layer;
}

}  // namespace

template <class T> std::shared_ptr<T> object_from_json(const Json& json) {
  const std::string& class_name = class_name_in(json);
  const std::string registered_name = registered_name_in(json);
  if constexpr (std::is_same_v<T, Layer>)
    if (registered_name.empty() && is_model_class(class_name)) return model_from_json(json);
  const ClassTable& table = class_table<T>();
  const Json& config = config_in(json);
  if (custom_classes<T>.make && (!registered_name.empty() || !table.find(class_name)))
    if (auto object = custom_classes<T>.make({class_name, registered_name, json_text(config)})) return object;
  const ClassEntry& entry = entry_in(json, table);
  if constexpr (std::is_same_v<T, Layer>)
    if (config.contains("trainable")) return layer_with_flag(entry, config);
  return make_from<T>(entry, config);
}

template <class T> std::string to_json(const T& object, int indent) {
  return json_text(object_to_json<T>(object), indent);
}
template <class T> std::shared_ptr<T> from_json(std::string_view text) {
  return object_from_json<T>(parse_json(text, "config"));
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
