/// Files and descriptions of models. web/src/model.ts has their interface.
#include "bind.hpp"
#include "model_options.hpp"

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
  bind<"model.save(model, folder)", [](ModelPtr model, std::string folder) { model->save(folder); }>();
  bind<"model.save_weights(model, path)", [](ModelPtr model, std::string path) { model->save_weights(path); }>();
  bind<"model.load_weights(model, path)", [](ModelPtr model, std::string path) { model->load_weights(path); }>();
  bind<"model.to_json(model)", [](ModelPtr model) { return to_json<Layer>(*model); }>();
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
