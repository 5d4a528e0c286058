#include "etude/saving/detail/keras_form.hpp"

#include <utility>

namespace etude {
namespace {

/// The classes that Keras exports under another name.
constexpr std::pair<std::string_view, const char*> keras_names[] = {{"GroupedQueryAttention", "GroupQueryAttention"}};

Json object_json(Json module, std::string_view class_name, Json config, Json registered_name) {
  Json json = Json::object();
  add_member(json, "module", std::move(module));
  add_member(json, "class_name", class_name);
  add_member(json, "config", std::move(config));
  add_member(json, "registered_name", std::move(registered_name));
  return json;
}

}  // namespace

Json keras_object(std::string_view kind, std::string_view class_name, Json config) {
  std::string module = kind == "schedule" ? "keras.optimizers.schedules" : "keras." + std::string(kind);
  if (kind != "schedule") module += kind == "loss" ? "es" : "s";
  for (const auto& [ours, of_keras] : keras_names)
    if (class_name == ours) class_name = of_keras;
  return object_json(module, class_name, std::move(config), nullptr);
}

Json custom_object(std::string_view class_name, std::string_view registered_name, Json config) {
  return object_json(nullptr, class_name, std::move(config), registered_name);
}

Json model_json(bool functional, Json config) {
  return functional ? object_json("keras.src.models.functional", "Functional", std::move(config), "Functional")
                    : object_json("keras", "Sequential", std::move(config), nullptr);
}

Json policy_json(std::string_view name) { return object_json("keras", "DTypePolicy", {{"name", name}}, nullptr); }

}  // namespace etude
