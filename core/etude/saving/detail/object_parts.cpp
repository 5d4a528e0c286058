#include "etude/saving/detail/object_parts.hpp"

#include "etude/base/error.hpp"
#include "etude/classes/class_table.hpp"

namespace etude {

const std::string& class_name_in(const Json& json) {
  const bool named = json.is_object() && json.contains("class_name") && json["class_name"].is_string();
  check(named, ErrorKind::data, "config", JsonExcerpt{json},
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
        "a config that is not an object: ", JsonExcerpt{json["config"]},
        " - expected {\"class_name\": …, \"config\": {…}} - check the text.");
  return json["config"];
}

bool is_model_class(const std::string& class_name) {
  return class_name == "Sequential" || class_name == "Functional" || class_name == "Model";
}

bool describes_model(const Json& json) {
  if (json.is_object() && !json.contains("class_name"))
    return json.contains("modelTopology") || json.contains("model_config");
  return registered_name_in(json).empty() && is_model_class(class_name_in(json));
}

}  // namespace etude
