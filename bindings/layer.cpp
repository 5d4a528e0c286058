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

/// A layer or cell whose functions are in JavaScript.
template <class Base> class Custom : public Base, public UserLayer {
 public:
  Custom(std::string_view class_name, const CustomLayerOptions& options, const val& link)
      : Base(class_name, layer_options(options)), functions_{link, this->compute_dtype()} {}

  void build_for(const std::vector<Shape>& input_shapes) override {
    // The other inputs of a cell are its states.
    const bool one = std::is_same_v<Base, RnnCell> || input_shapes.size() == 1;
    functions_.run<void>("build", one ? to_js(input_shapes.front()) : to_js(input_shapes));
    auto layers = functions_.run<std::vector<LayerPtr>>("layers");
    for (const LayerPtr& layer : layers) this->check_can_hold(*layer);
    layers_ = std::move(layers);
  }
  const UserFunctions& functions() const override { return functions_; }
  /// The layers in its properties, once it is built.
  std::vector<LayerPtr> layers() const override { return layers_; }
  Variable weight(const WeightOptions& options) {
    return this->add_weight({.name = options.name,
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

class CustomLayer : public Custom<Layer> {
 public:
  using Custom::Custom;
  Value call(Value x, bool training) override { return call_with({x}, training); }
  Outputs call_with(const std::vector<Value>& inputs, bool training) override {
    return functions().run<Outputs>("call", Outputs(inputs), training);
  }
};

class CustomCell : public Custom<RnnCell> {
 public:
  using Custom::Custom;
  std::vector<Shape> state_shapes(const Shape& x) const override {
    const std::vector<Shape> all = shapes(x);
    return {all.begin() + 1, all.end()};
  }
  Shape step_output_shape(const Shape& x) const override { return shapes(x).front(); }
  Step step(Value x, const std::vector<Value>& states, bool training) override {
    const auto made = functions().run<Outputs>("call", x, states, training);
    return {made.front(), {made.begin() + 1, made.end()}};
  }
  std::shared_ptr<RnnCell> copy() const override {
    return cell_of(functions().run<LayerPtr>("copy"), "the result of copy()", where());
  }

 private:
  /// Those of the output, and of each state.
  std::vector<Shape> shapes(const Shape& x) const {
    std::vector<Shape> result;
    for (const Shape& size : functions().run<std::vector<Shape>>("sizes")) {
      Shape shape{x[0]};
      for (const std::int64_t extent : size) shape.append(extent);
      result.push_back(shape);
    }
    return result;
  }
};

}  // namespace

EMSCRIPTEN_BINDINGS(layer) {
  if (in_worker()) return;
  bind<"layer.custom(class_name, options, link)",
       [](std::string class_name, CustomLayerOptions options, val link) -> LayerPtr {
         return std::make_shared<CustomLayer>(class_name, options, link);
       }>();
  bind<"layer.custom_cell(class_name, options, link)",
       [](std::string class_name, CustomLayerOptions options, val link) -> LayerPtr {
         return std::make_shared<CustomCell>(class_name, options, link);
       }>();
  bind<"layer.add_weight(layer, options)", [](LayerPtr layer, WeightOptions options) {
    if (const auto cell = std::dynamic_pointer_cast<CustomCell>(layer)) return cell->weight(options);
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
