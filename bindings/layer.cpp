/// Layers that a user wrote in JavaScript. web/src/layer.ts holds the handles.
#include "bind.hpp"
#include "dicts.hpp"
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

/// The protected members of any layer.
struct Access : Layer {
  static void check_can_hold_in(const Layer& layer, const Layer& inner) { (layer.*&Access::check_can_hold)(inner); }
  static Variable add(Layer& layer, const WeightOptions& options) {
    return (layer.*&Access::add_weight)({.name = options.name,
                                         .shape = options.shape,
                                         .initializer = options.initializer,
                                         .trainable = options.trainable,
                                         .regularizer = options.regularizer,
                                         .constraint = options.constraint});
  }
};

/// The common part of layers and cells whose functions are in JavaScript; their bases differ.
class CustomParts : public UserLayer {
 public:
  CustomParts(const val& link, DType compute_dtype) : functions_{link, compute_dtype} {}
  const UserFunctions& functions() const override { return functions_; }

 protected:
  void build_parts(const Layer& layer, const val& input_shape) {
    functions_.run<void>("build", input_shape);
    auto inner = functions_.run<std::vector<LayerPtr>>("layers");
    for (const LayerPtr& each : inner) Access::check_can_hold_in(layer, *each);
    inner_ = std::move(inner);
  }
  /// The layers in its properties, once it is built.
  const std::vector<LayerPtr>& inner() const { return inner_; }

 private:
  UserFunctions functions_;
  std::vector<LayerPtr> inner_;
};

class CustomLayer : public Layer, public CustomParts {
 public:
  CustomLayer(std::string_view class_name, const CustomLayerOptions& options, const val& link)
      : Layer(class_name, layer_options(options)), CustomParts(link, compute_dtype()) {}
  void build_for(const std::vector<Shape>& input_shapes) override {
    build_parts(*this, input_shapes.size() == 1 ? to_js(input_shapes.front()) : to_js(input_shapes));
  }
  Value call(Value x, bool training) override { return call_with({x}, training); }
  Outputs call_with(const std::vector<Value>& inputs, bool training) override {
    return functions().run<Outputs>("call", named(inputs), training);
  }
  std::vector<std::string>* call_names() override { return &call_names_; }
  std::vector<LayerPtr> layers() const override { return inner(); }
};

class CustomCell : public RnnCell, public CustomParts {
 public:
  CustomCell(std::string_view class_name, const CustomLayerOptions& options, const val& link)
      : RnnCell(class_name, layer_options(options)), CustomParts(link, compute_dtype()) {}
  void build(const Shape& input_shape) override { build_parts(*this, to_js(input_shape)); }
  std::vector<Shape> state_shapes(const Shape& x) const override {
    std::vector<Shape> all = shapes(x);
    all.erase(all.begin());
    return all;
  }
  Shape step_output_shape(const Shape& x) const override { return shapes(x).front(); }
  Step step(Value x, const std::vector<Value>& states, bool training) override {
    const auto made = functions().run<Outputs>("call", x, states, training);
    return {made.front(), {made.begin() + 1, made.end()}};
  }
  std::shared_ptr<RnnCell> copy() const override {
    return cell_of(functions().run<LayerPtr>("copy"), "the result of copy()", where());
  }
  std::vector<LayerPtr> layers() const override { return inner(); }

 private:
  /// Those of the output, and of each state.
  std::vector<Shape> shapes(const Shape& x) const {
    return functions().run<std::vector<Shape>>("shapes", static_cast<double>(x[0]));
  }
};

}  // namespace

EMSCRIPTEN_BINDINGS(layer) {
  if (in_worker()) return;
  bind<"layer.custom(class_name, options, link, is_cell)",
       [](std::string class_name, CustomLayerOptions options, val link, bool is_cell) -> LayerPtr {
         if (is_cell) return std::make_shared<CustomCell>(class_name, options, link);
         return std::make_shared<CustomLayer>(class_name, options, link);
       }>();
  bind<"layers.input_layer(options)", [](InputOptions options) -> LayerPtr { return layers::input_layer(options); }>();
  bind<"layer.add_weight(layer, options)", [](LayerPtr layer, WeightOptions options) {
    check(dynamic_cast<CustomParts*>(layer.get()) != nullptr, ErrorKind::value, "addWeight", layer->class_name(),
          " - expected a layer of a class that extends et.Layer - call this.addWeight() in its build().");
    return Access::add(*layer, options);
  }>();
  // Unlike the method of a handle, it keeps an object of web.
  bind<"layer.apply_all(layer, inputs)",
       [](LayerPtr layer, SymbolicInputs inputs) { return apply_all(layer, inputs.of(*layer)); }>();
}

}  // namespace etude::js
