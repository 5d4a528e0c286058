/// Layers that a user wrote in JavaScript. web/src/layer.ts holds the handles.
#include "bind.hpp"
#include "user_functions.hpp"

namespace etude::js {

// Outside of the anonymous namespace, whose name would be part of those of the members.
struct CustomLayerOptions {
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  static constexpr auto fields() { return layer_fields<CustomLayerOptions>(); }
};

struct WeightOptions {
  std::string name = "weight";
  Shape shape = {};
  Choice<Initializer> initializer = "glorot_uniform";
  bool trainable = true;
  Choice<Regularizer> regularizer = {};
  Choice<Constraint> constraint = {};
  static constexpr auto fields() {
    return option_rows(option<&WeightOptions::name>("Name of the variable."),
                       option<&WeightOptions::shape>("Its extents. Default: those of a scalar."),
                       option<&WeightOptions::initializer>("Initial values."),
                       option<&WeightOptions::trainable>("Whether optimizers update it."),
                       option<&WeightOptions::regularizer>("Penalty on its values, added to the loss."),
                       option<&WeightOptions::constraint>("Constraint that is applied after each update."));
  }
};

namespace {

/// A layer whose functions are in JavaScript.
class CustomLayer : public Layer, public UserLayer {
 public:
  CustomLayer(std::string_view class_name, const CustomLayerOptions& options, const val& link)
      : Layer(class_name, layer_options(options)), functions_{link, compute_dtype()} {}

  void build_for(const std::vector<Shape>& input_shapes) override {
    functions_.run<void>("build", input_shapes.size() == 1 ? to_js(input_shapes.front()) : to_js(input_shapes));
    auto layers = functions_.run<std::vector<LayerPtr>>("layers");
    for (const LayerPtr& layer : layers) check_can_hold(*layer);
    layers_ = std::move(layers);
  }
  Value call(Value x, bool training) override { return call_with({x}, training); }
  Outputs call_with(const std::vector<Value>& inputs, bool training) override {
    return functions_.run<Outputs>("call", Outputs(inputs), training);
  }
  const UserFunctions& functions() const override { return functions_; }
  /// The layers in its properties, once it is built.
  std::vector<LayerPtr> layers() const override { return layers_; }
  Variable weight(const WeightOptions& options) {
    return add_weight({.name = options.name,
                       .shape = options.shape,
                       .initializer = options.initializer,
                       .trainable = options.trainable,
                       .regularizer = options.regularizer,
                       .constraint = options.constraint});
  }

 private:
  UserFunctions functions_;
  std::vector<LayerPtr> layers_;
};

}  // namespace

EMSCRIPTEN_BINDINGS(layer) {
  if (in_worker()) return;
  bind<"layer.custom(class_name, options, link)",
       [](std::string class_name, CustomLayerOptions options, val link) -> LayerPtr {
         return std::make_shared<CustomLayer>(class_name, options, link);
       }>();
  bind<"layers.input_layer(options)", [](InputOptions options) -> LayerPtr { return layers::input_layer(options); }>();
  bind<"layer.add_weight(layer, options)", [](LayerPtr layer, WeightOptions options) {
    const auto custom = std::dynamic_pointer_cast<CustomLayer>(layer);
    check(custom != nullptr, ErrorKind::value, "addWeight", layer->class_name(),
          " - expected a layer of a class that extends et.Layer - call this.addWeight() in its build().");
    return custom->weight(options);
  }>();
  // Unlike the method of a handle, it keeps an object of web.
  bind<"layer.apply_all(layer, inputs)",
       [](LayerPtr layer, SymbolicInputs inputs) { return apply_all(layer, inputs.tensors); }>();
}

}  // namespace etude::js
