/// Files and descriptions of models. web/src/model.ts has their interface.
#include "bind.hpp"
#include "files.hpp"
#include "model_options.hpp"
#include "user_functions.hpp"

namespace etude {
namespace {

using js::call_host, js::from_js, js::UserObject, js::val;

/// Which of the kinds it is. Comparing names at each use would cost a page some bytes.
std::size_t number_of(std::string_view kind) {
  constexpr std::string_view names[] = {"loss",        "metric",      "optimizer", "schedule",
                                        "initializer", "regularizer", "constraint"};
  return static_cast<std::size_t>(std::ranges::find(names, kind) - std::begin(names));
}

/// Calls visit.operator()<Kind>() for the kind of classes of that name.
template <class Visitor> auto with_kind(std::string_view kind, Visitor visit) {
  switch (number_of(kind)) {
    case 0: return visit.template operator()<Loss>();
    case 1: return visit.template operator()<Metric>();
    case 2: return visit.template operator()<Optimizer>();
    case 3: return visit.template operator()<LearningRateSchedule>();
    case 4: return visit.template operator()<Initializer>();
    case 5: return visit.template operator()<Regularizer>();
    case 6: return visit.template operator()<Constraint>();
    default: return visit.template operator()<Layer>();
  }
}

/// An object from JavaScript, and the object that calls its functions: null for an object of Étude's classes.
std::shared_ptr<void> given(std::string_view kind, const val& value, const js::Where& where) {
  return with_kind(kind,
                   [&]<class Kind>() -> std::shared_ptr<void> { return from_js<std::shared_ptr<Kind>>(value, where); });
}
const UserObject* user_of(std::string_view kind, const void* object) {
  return with_kind(kind,
                   [&]<class Kind>() { return dynamic_cast<const UserObject*>(static_cast<const Kind*>(object)); });
}

// web/src/registry.ts has the classes. parts.mjs names these functions.

std::optional<CustomObject> object_of_web_as_json(const ClassTable& table, const void* object) {
  const UserObject* user = user_of(table.kind(), object);
  if (!user) return {};
  const val of_web = user->functions().object();
  check(!of_web.isUndefined(), ErrorKind::state, "toJson", "a custom ", table.kind(),
        " whose object was garbage-collected - expected a live object - keep a reference to it, or to a model that "
        "contains it.");
  const val saved = call_host("describeObject", of_web);
  const auto text = [&](const char* name) { return from_js<std::string>(saved[name], {"toJson", name}); };
  return CustomObject{text("className"), text("registeredName"), text("config")};
}

std::shared_ptr<void> object_of_web_from_json(const ClassTable& table, const CustomObject& saved) {
  const val made =
      call_host("makeObject", std::string(table.kind()), saved.class_name, saved.registered_name, saved.config);
  if (made.isNull()) return nullptr;
  return given(table.kind(), made, {"fromConfig", "the result"});
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

/// Layers of strings by their names.
struct StringLayers : val {};
template <> struct Conversion<StringLayers> {
  static val to(const StringLayers& layers) { return layers; }
  static std::string made() { return "Record<string, StringLayer>"; }
};

template <> struct Conversion<CloneFunction> {
  static CloneFunction from(const val& function, const Where& where) {
    return [function, name = std::string(where.function)](const LayerPtr& layer) {
      return from_js<LayerPtr>(call(function, to_js(layer)), {name, "the result of cloneFunction"});
    };
  }
  static std::string given() { return "((layer: Layer) => LayerLike)"; }
};

/// JavaScript gets a fraction. SaveProgress is the same type.
template <> struct Conversion<LoadProgress> {
  static LoadProgress from(const val& function, const Where&) {
    return [function](std::uint64_t done, std::uint64_t all) {
      call(function, all ? static_cast<double>(done) / static_cast<double>(all) : 1.0);
    };
  }
  static std::string given() { return "((fraction: number) => void)"; }
};

namespace {

Task<val> load_weights(ModelPtr model, std::string path, LoadWeightsOptions options) {
  co_await model->load_weights_task(std::move(path), std::move(options));
  co_return val::undefined();
}

StringLayers by_names(const std::map<std::string, std::shared_ptr<StringLayer>>& layers) {
  StringLayers result{val::object()};
  for (const auto& [name, layer] : layers) result.set(name, to_js(LayerPtr(layer)));
  return result;
}

Task<val> load_strings(std::string path, LoadStringLayersOptions options) {
  const auto layers = co_await load_string_layers_task(std::move(path), std::move(options));
  co_return by_names(layers);
}

}  // namespace

EMSCRIPTEN_BINDINGS(saving) {
  if (in_worker()) return;
  set_custom_classes({object_of_web_as_json, object_of_web_from_json});
  etude::host().replace = replace_pattern;
  bind<"model.save(model, folder, options, files?, progress?)",
       [](ModelPtr model, std::string folder, SaveOptions options, std::shared_ptr<Vfs> files, SaveProgress progress) {
         const FilesScope scope(files);
         options.progress = std::move(progress);
         model->save(folder, options);
       }>();
  bind<"model.save_weights(model, path, options, files?, progress?)",
       [](ModelPtr model, std::string path, SaveOptions options, std::shared_ptr<Vfs> files, SaveProgress progress) {
         const FilesScope scope(files);
         options.progress = std::move(progress);
         model->save_weights(path, options);
       }>();
  bind<"model.load_weights(model, path, options, progress?)",
       [](ModelPtr model, std::string path, LoadWeightsOptions options, LoadProgress progress) {
         options.progress = std::move(progress);
         model->load_weights(path, options);
       }>();
  bind<"model.load_weights_task(model, path, options, files, progress?)",
       [](ModelPtr model, std::string path, LoadWeightsOptions options, std::shared_ptr<Vfs> files,
          LoadProgress progress) {
         options.files = std::move(files);
         options.progress = std::move(progress);
         return load_weights(std::move(model), std::move(path), std::move(options));
       }>();
  bind<"model.to_json(model)", [](ModelPtr model) { return to_json<Layer>(*model); }>();
  bind<"serialize(kind, object)", [](std::string kind, val object) {
    const auto serialized = given(kind, object, {"serialize", "object"});
    return with_kind(kind, [&]<class Kind>() { return to_json(*static_cast<const Kind*>(serialized.get())); });
  }>();
  bind<"deserialize(kind, text)", [](std::string kind, std::string text) {
    const auto made = with_kind(kind, [&]<class Kind>() -> std::shared_ptr<void> { return from_json<Kind>(text); });
    const UserObject* user = user_of(kind, made.get());
    const val of_web = user ? user->functions().object() : val::undefined();
    if (!of_web.isUndefined()) return of_web;
    return with_kind(kind, [&]<class Kind>() { return to_js(std::static_pointer_cast<Kind>(made)); });
  }>();
  bind<"utils.feature_space_to_json(space)", [](std::shared_ptr<FeatureSpace> space) { return to_json(*space); }>();
  bind<"utils.feature_space_from_json(text)", [](std::string text) { return feature_space_from_json(text); }>();
  bind<"model.from_json(text)", [](std::string text) { return model_from_json(text); }>();
  bind<"clone_model(model, clone_function?)", [](ModelPtr model, std::optional<CloneFunction> clone_function) {
    return clone_model(*model, clone_function.value_or(nullptr));
  }>();
  bind<"model_to_dot(model, options?)",
       [](ModelPtr model, ModelToDotOptions options) { return model_to_dot(*model, options); }>();
  bind<"model.load(folder, options, progress?)",
       [](std::string folder, LoadModelOptions options, LoadProgress progress) {
         options.progress = std::move(progress);
         return load_model(folder, options);
       }>();
  bind<"model.load_task(path, options, files, progress?)",
       [](std::string path, LoadModelOptions options, std::shared_ptr<Vfs> files, LoadProgress progress) {
         options.files = std::move(files);
         options.progress = std::move(progress);
         return load_model_task(std::move(path), std::move(options));
       }>();
  bind<"load_string_layers(path)", [](std::string path) { return by_names(load_string_layers(path)); }>();
  bind<"load_string_layers_task(path, files)", [](std::string path, std::shared_ptr<Vfs> files) {
    return load_strings(std::move(path), {.files = std::move(files)});
  }>();
}

}  // namespace etude::js
