/// Files and descriptions of models. web/src/model.ts has their interface.
#include "bind.hpp"
#include "model_options.hpp"
#include "user_functions.hpp"

namespace etude {
namespace {

using js::call_host, js::from_js, js::UserObject, js::val;

/// Calls visit.operator()<Kind>() for the kind of classes of that name.
template <class Visitor> auto with_kind(std::string_view kind, Visitor visit) {
  if (kind == "loss") return visit.template operator()<Loss>();
  if (kind == "metric") return visit.template operator()<Metric>();
  if (kind == "optimizer") return visit.template operator()<Optimizer>();
  if (kind == "schedule") return visit.template operator()<LearningRateSchedule>();
  if (kind == "initializer") return visit.template operator()<Initializer>();
  if (kind == "regularizer") return visit.template operator()<Regularizer>();
  if (kind == "constraint") return visit.template operator()<Constraint>();
  return visit.template operator()<Layer>();
}

/// What calls the functions of an object of web; null for other objects.
template <class Kind> const UserObject* user_of(const Kind& object) { return dynamic_cast<const UserObject*>(&object); }

// web/src/registry.ts has the classes. parts.mjs names these functions.

std::optional<CustomObject> object_of_web_as_json(const ClassTable& table, const void* object) {
  const auto* user =
      with_kind(table.kind(), [&]<class Kind>() { return user_of<Kind>(*static_cast<const Kind*>(object)); });
  if (!user) return {};
  const val of_web = user->functions().object();
  check(!of_web.isUndefined(), ErrorKind::state, "toJson", "a custom ", table.kind(),
        " whose object was collected - expected that to be alive - keep it, or a model that contains it.");
  const val saved = call_host("describeObject", of_web);
  const auto text = [&](const char* name) { return from_js<std::string>(saved[name], {"toJson", name}); };
  return CustomObject{text("className"), text("registeredName"), text("config")};
}

std::shared_ptr<void> object_of_web_from_json(const ClassTable& table, const CustomObject& saved) {
  const val made =
      call_host("makeObject", std::string(table.kind()), saved.class_name, saved.registered_name, saved.config);
  if (made.isNull()) return nullptr;
  return with_kind(table.kind(), [&]<class Kind>() -> std::shared_ptr<void> {
    return from_js<std::shared_ptr<Kind>>(made, {"fromConfig", "the result"});
  });
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
  set_custom_classes({object_of_web_as_json, object_of_web_from_json});
  bind<"model.save(model, folder)", [](ModelPtr model, std::string folder) { model->save(folder); }>();
  bind<"model.save_weights(model, path)", [](ModelPtr model, std::string path) { model->save_weights(path); }>();
  bind<"model.load_weights(model, path)", [](ModelPtr model, std::string path) { model->load_weights(path); }>();
  bind<"model.to_json(model)", [](ModelPtr model) { return to_json<Layer>(*model); }>();
  bind<"serialize(kind, object)", [](std::string kind, val object) {
    return with_kind(kind, [&]<class Kind>() {
      return to_json<Kind>(*from_js<std::shared_ptr<Kind>>(object, {"serialize", "object"}));
    });
  }>();
  bind<"deserialize(kind, text)", [](std::string kind, std::string text) {
    return with_kind(kind, [&]<class Kind>() {
      const auto object = from_json<Kind>(text);
      const UserObject* user = user_of<Kind>(*object);
      const val of_web = user ? user->functions().object() : val::undefined();
      return of_web.isUndefined() ? to_js(object) : of_web;
    });
  }>();
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
