/// Files and descriptions of models. web/src/model.ts has their interface.
#include "bind.hpp"
#include "model_options.hpp"
#include "user_functions.hpp"

namespace etude {
namespace {

using js::call_host, js::from_js, js::val;

// web/src/registry.ts has the classes. parts.mjs names these functions.

std::optional<CustomObject> layer_of_web_as_json(const void* object) {
  const auto& layer = *static_cast<const Layer*>(object);
  const auto* user = dynamic_cast<const js::UserLayer*>(&layer);
  if (!user) return {};
  const val of_web = user->functions().object();
  check(!of_web.isUndefined(), ErrorKind::state, "toJson", '"', layer.name(),
        "\" whose object was collected - expected that to be alive - keep it, or a model that contains it.");
  const val saved = call_host("describeObject", of_web);
  const auto text = [&](const char* name) { return from_js<std::string>(saved[name], {"toJson", name}); };
  return CustomObject{text("className"), text("registeredName"), text("config")};
}

std::shared_ptr<void> layer_of_web_from_json(const CustomObject& saved) {
  const val made = call_host("makeObject", std::string(class_table<Layer>().kind()), saved.class_name,
                             saved.registered_name, saved.config);
  if (made.isNull()) return nullptr;
  return from_js<LayerPtr>(made, {"fromConfig", "the result"});
}

/// JavaScript's own regular expressions.
std::string replace_pattern(const std::string& pattern, const std::string& replacement, const std::string& text) {
  try {
    const val expression = js::call(val::global("RegExp"), pattern, std::string("g"));
    return val(text).call<std::string>("replace", expression, replacement);
  } catch (const js::Thrown& thrown) {
    throw std::invalid_argument(thrown.value["message"].as<std::string>());
  }
}

}  // namespace
}  // namespace etude

namespace etude::js {

template <> struct Conversion<CloneFunction> {
  static CloneFunction from(const val& function, const Where& where) {
    return [function, name = std::string(where.function)](const LayerPtr& layer) {
      return from_js<LayerPtr>(call(function, to_js(layer)), {name, "the result of cloneFunction"});
    };
  }
  static std::string given() { return "((layer: Layer) => LayerLike)"; }
};

EMSCRIPTEN_BINDINGS(saving) {
  if (in_worker()) return;
  class_table<Layer>().set_custom_classes({layer_of_web_as_json, layer_of_web_from_json});
  etude::host().replace = replace_pattern;
  bind<"model.save(model, folder)", [](ModelPtr model, std::string folder) { model->save(folder); }>();
  bind<"model.save_weights(model, path)", [](ModelPtr model, std::string path) { model->save_weights(path); }>();
  bind<"model.load_weights(model, path, options)",
       [](ModelPtr model, std::string path, LoadWeightsOptions options) { model->load_weights(path, options); }>();
  bind<"model.to_json(model)", [](ModelPtr model) { return to_json<Layer>(*model); }>();
  bind<"layer.to_json(layer)", [](LayerPtr layer) { return to_json(*layer); }>();
  bind<"layer.from_json(text)", [](std::string text) { return from_json<Layer>(text); }>();
  bind<"model.from_json(text)", [](std::string text) { return model_from_json(text); }>();
  bind<"clone_model(model, clone_function?)", [](ModelPtr model, std::optional<CloneFunction> clone_function) {
    return clone_model(*model, clone_function.value_or(nullptr));
  }>();
  bind<"model_to_dot(model, options?)",
       [](ModelPtr model, ModelToDotOptions options) { return model_to_dot(*model, options); }>();
  bind<"model.load(folder, options)", [](std::string folder, LoadModelOptions options) {
    const ModelPtr model = load_model(folder, options);
    return model;
  }>();
}

}  // namespace etude::js
