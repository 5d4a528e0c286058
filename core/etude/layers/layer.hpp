#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/choice.hpp"
#include "etude/base/random.hpp"
#include "etude/classes/class_entry.hpp"
#include "etude/constraints/constraint.hpp"
#include "etude/graph/graph.hpp"
#include "etude/initializers/initializer.hpp"
#include "etude/regularizers/regularizer.hpp"

namespace etude {

class Layer;
using LayerPtr = std::shared_ptr<Layer>;
class SymbolicTensor;
struct LayerCall;

/// The options of every layer.
struct LayerOptions {
  std::string name{};  ///< Default: the class's name in snake_case, numbered.
  /// The dtypes of computation and of variables, by the name of a DTypePolicy. Default: dtype_policy().
  std::string dtype{};
  bool trainable = true;
};

/// Options of a layer, with their fields. A layer without variables may omit `trainable`.
template <class Options>
concept OptionsOfLayer = requires(Options& options) {
  Options::fields();
  options.name;
};
/// The options of a layer that all layers share.
template <OptionsOfLayer Options> LayerOptions layer_options(const Options& options) {
  LayerOptions result{.name = options.name};
  if constexpr (requires { options.dtype; }) result.dtype = options.dtype;
  if constexpr (requires { options.trainable; }) result.trainable = options.trainable;
  return result;
}

/// The rows of the options of all layers, and of the weights and outputs of layers with a kernel and a bias.
template <class Options> constexpr auto layer_fields() {
  constexpr auto own =
      option_rows(option<&Options::name>("Name of the layer. Default: derived from its class, such as \"dense_1\"."),
                  option<&Options::dtype>(
                      "Dtype of variables and results, or a policy such as \"mixed_float16\". Default: the global "
                      "policy."));
  if constexpr (requires { &Options::trainable; })
    return option_rows(own, option<&Options::trainable>("Whether its variables are trained."));
  else
    return own;
}
/// The rows of the constraints that the options have.
template <class Options> constexpr auto constraint_fields() {
  // Each is evaluated only for options with that member.
  constexpr auto kernel = [] {
    if constexpr (requires { &Options::kernel_constraint; })
      return option_rows(option<&Options::kernel_constraint>("Constraint of the kernel, applied after each update."));
    else
      return option_rows();
  };
  constexpr auto recurrent = [] {
    if constexpr (requires { &Options::recurrent_constraint; })
      return option_rows(
          option<&Options::recurrent_constraint>("Constraint of the recurrent kernel, applied after each update."));
    else
      return option_rows();
  };
  constexpr auto depthwise = [] {
    if constexpr (requires { &Options::depthwise_constraint; })
      return option_rows(
          option<&Options::depthwise_constraint>("Constraint of the depthwise kernel, applied after each update."));
    else
      return option_rows();
  };
  constexpr auto pointwise = [] {
    if constexpr (requires { &Options::pointwise_constraint; })
      return option_rows(
          option<&Options::pointwise_constraint>("Constraint of the pointwise kernel, applied after each update."));
    else
      return option_rows();
  };
  constexpr auto bias = [] {
    if constexpr (requires { &Options::bias_constraint; })
      return option_rows(option<&Options::bias_constraint>("Constraint of the bias, applied after each update."));
    else
      return option_rows();
  };
  constexpr auto normalized = [] {
    if constexpr (requires { &Options::gamma_constraint; })
      return option_rows(option<&Options::beta_constraint>("Constraint of beta, applied after each update."),
                         option<&Options::gamma_constraint>("Constraint of gamma, applied after each update."));
    else
      return option_rows();
  };
  return option_rows(kernel(), recurrent(), depthwise(), pointwise(), bias(), normalized());
}
/// The rows of the initializers, regularizers and constraints of a layer with a kernel and a bias.
template <class Options> constexpr auto weight_fields() {
  return option_rows(option<&Options::kernel_initializer>("Initial values of the kernel."),
                     option<&Options::bias_initializer>("Initial values of the bias."),
                     option<&Options::kernel_regularizer>("Penalty on the kernel, added to the loss."),
                     option<&Options::bias_regularizer>("Penalty on the bias, added to the loss."),
                     option<&Options::activity_regularizer>("Penalty on the result, added to the loss."),
                     constraint_fields<Options>());
}

/// A part of a model: variables and a function of Values. Subclasses override `call`, and `build` if they have
/// variables. Other Variables that call() reads become weights of the layer at its first call, as Keras tracks
/// attributes: they are trained, counted, saved and loaded. They must exist before call(): a trainable variable that is
/// created within call() would differ in each trace, which gives a warning. Source: keras/src/layers/layer.py.
class Layer : public std::enable_shared_from_this<Layer>, public Described {
 public:
  using Kind = Layer;
  using Product = Layer;
  /// A layer of the class `class_name`; `options` may set its name.
  explicit Layer(std::string_view class_name, const LayerOptions& options = {});
  /// A layer of a class with its own options, which its config contains.
  template <OptionsOfLayer Options> Layer(const ClassEntry& entry, Options options)
      : Layer(entry.class_name, layer_options(options)) {
    describe({entry, std::move(options)});
  }
  virtual ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// Its name, unique unless it was passed: "dense_1".
  const std::string& name() const { return name_; }
  /// Keras's name of its class: "Dense".
  std::string_view class_name() const { return class_name_; }
  /// The dtype of computation.
  DType compute_dtype() const { return policy_.compute_dtype; }
  /// The dtype of variables.
  DType variable_dtype() const { return policy_.variable_dtype; }
  /// Both dtypes.
  const DTypePolicy& dtype_policy() const { return policy_; }

  /// Within a trace: builds the layer for the Value's shape if it is not built yet, casts floats to the compute dtype,
  /// and calls it. The result gets the mask of x as mask_of() says, unless the layer returns its own mask. Throws
  /// Error(value) for a layer of several outputs.
  Value operator()(Value x, bool training = false);
  /// The same for several inputs. An input may be empty if the layer does not need it. One Value per output.
  Outputs operator()(const std::vector<Value>& inputs, bool training = false);
  /// Outside a trace: traces itself, runs once on the default device, and discards the trace.
  Tensor operator()(const Tensor& x, bool training = false);
  Tensor operator()(const std::vector<Tensor>& inputs, bool training = false);
  /// The same for a layer of several outputs: a Tensor for each.
  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, bool training = false);
  /// Outside a trace: a symbolic call, from which Functional builds models. Builds the layer. The layer must be held by
  /// a std::shared_ptr, as the functions in layers:: return it.
  SymbolicTensor apply(const SymbolicTensor& x);
  SymbolicTensor apply(const std::vector<SymbolicTensor>& inputs);
  /// The same for a layer of several outputs.
  std::vector<SymbolicTensor> apply_all(const std::vector<SymbolicTensor>& inputs);
  /// The calls of apply() whose results still exist, in order.
  std::vector<std::shared_ptr<const LayerCall>> calls() const;
  /// The inputs of its only call; those of a Functional model, or of a Sequential with an InputLayer, are the model's
  /// own. Throws Error(state) for a layer that was called on SymbolicTensors never, or more than once.
  virtual std::vector<SymbolicTensor> inputs() const;
  /// The outputs, in the same way.
  virtual std::vector<SymbolicTensor> outputs() const;
  /// The only one of inputs(). Throws Error(value) for several.
  SymbolicTensor input() const;
  /// The only one of outputs(). Throws Error(value) for several.
  SymbolicTensor output() const;

  /// Creates the variables for inputs of `input_shape`, batch axis included.
  virtual void build(const Shape& input_shape) { static_cast<void>(input_shape); }
  /// The same for several inputs; omitted inputs are not included.
  virtual void build_for(const std::vector<Shape>& input_shapes) { build(input_shapes.front()); }
  /// The output for x. `training` is false in evaluate and predict.
  virtual Value call(Value x, bool training) = 0;
  /// The outputs of a layer of several inputs or outputs; a layer of one input throws Error(value) here.
  virtual Outputs call_with(const std::vector<Value>& inputs, bool training);
  /// The key of a layer's random draws, which is saved with the model. Setting it takes effect at the next trace.
  virtual std::optional<RandomKey> random_key() const { return {}; }
  /// Sets the result of random_key().
  virtual void set_random_key(const RandomKey&) {}
  /// Layers inside this one, in order.
  virtual std::vector<LayerPtr> layers() const { return {}; }
  /// All layers inside this one, at any depth, each once: a layer comes before those inside it. Throws Error(value) if
  /// they are nested more than 100 deep.
  std::vector<LayerPtr> layers_inside() const { return inside(false, 1); }

  /// Whether it is an op of a functional model: Operation.
  bool is_operation() const { return is_operation_; }
  /// Whether its variables exist.
  bool built() const { return built_; }
  /// The shapes of the last input and output, batch axis included; empty before the first call.
  const std::optional<Shape>& input_shape() const { return input_shape_; }
  /// The shape of the last output, batch axis included; empty before the first call.
  const std::optional<Shape>& output_shape() const { return output_shape_; }
  /// The names of the last outputs, in their order, if they were a dict; else empty.
  virtual std::vector<std::string> output_keys() const { return output_keys_; }

  /// Whether its variables are trained. Nothing inside a layer that is not trainable is trained. The value at compile()
  /// counts (L-28).
  bool trainable() const { return trainable_; }
  /// Sets it for this layer and all layers inside.
  void set_trainable(bool trainable);
  /// Sets it for this layer only.
  void set_own_trainable(bool trainable) { trainable_ = trainable; }
  /// Whether results get the masks of inputs. By default custom layers do not, and print a warning instead, as in
  /// Keras.
  bool supports_masking() const;
  /// Sets it.
  void set_supports_masking(bool supports) { supports_masking_ = supports; }

  /// All variables, its own and those of the layers inside, in build order.
  std::vector<Variable> variables() const;
  /// The trained variables.
  std::vector<Variable> trainable_variables() const;
  /// The variables that are not trained.
  std::vector<Variable> non_trainable_variables() const;
  /// Within a trace: the losses of the regularizers of trained weights.
  std::vector<Value> regularization_losses() const;
  /// Within a trace: adds a scalar to the loss of the step, such as a penalty on this layer's outputs. With several
  /// replicas the mean of their scalars counts. A call of the layer, or of a model that contains it, drops earlier
  /// losses; within the outermost call all calls of a shared layer count.
  void add_loss(Value loss);
  /// Within a trace: the losses added by this layer and those inside it, including activity regularizers.
  std::vector<Value> added_losses() const;
  /// Parameters: elements of all variables.
  std::int64_t count_params() const;
  /// Its own variables, without those of the layers inside: weights; and state, such as that of random draws.
  const std::vector<Variable>& own_weights() const { return weights_; }
  /// The state of its random draws, without that of the layers inside.
  const std::vector<Variable>& own_states() const { return states_; }
  /// The variables that are saved and loaded: all except the state of random draws.
  std::vector<Variable> weights() const;
  /// The values of weights(), copied to the host.
  std::vector<Tensor> get_weights() const;
  /// Throws Error(value), and sets nothing, unless `weights` has the same number of tensors and the same shapes as the
  /// layer.
  void set_weights(const std::vector<Tensor>& weights);

 protected:
  /// The arguments of add_weight.
  struct Weight {
    /// The name: "kernel".
    std::string name;
    /// The shape.
    Shape shape;
    /// The initializer of its values.
    Choice<Initializer> initializer = "glorot_uniform";
    /// Whether optimizers update it.
    bool trainable = true;
    /// The penalty on its values, added to the loss.
    Choice<Regularizer> regularizer = {};
    /// How different values that replicas assign to it are combined.
    Aggregation aggregation = Aggregation::none;
    /// The constraint that optimizers apply after each update.
    Choice<Constraint> constraint = {};
  };
  /// Creates a variable of this layer.
  Variable add_weight(const Weight& weight);
  /// Creates state that is not a weight, such as the counter of a layer with random draws. It starts as zeros.
  Variable add_state(const std::string& name, const Shape& shape, DType dtype);
  /// A variable's value within the trace, in the compute dtype.
  Value value_of(const Variable& variable) const;
  /// The inputs, floats cast to the compute dtype; builds the layer for their shapes if it is not built yet.
  std::vector<Value> accept(const std::vector<Value>& inputs);
  /// Builds the layer for inputs of these shapes, unless it is built.
  void build_once(const std::vector<Shape>& input_shapes);
  /// The mask of its result, or an empty Value: by default that of the first input if the layer supports_masking() and
  /// the result has its axes, and more.
  virtual Value mask_of(const std::vector<Value>& inputs, Value y) const;
  /// For a layer whose inputs are not quantities, or not its own: they are not rounded to half precision.
  void keep_input_dtype() { keeps_input_dtype_ = true; }
  /// For ops: inputs are not cast, and need no batch axis.
  void set_operation() { is_operation_ = built_ = true; }
  /// For a layer whose variables exist before it is called, and perhaps the shape of its output.
  void set_built(std::optional<Shape> output_shape = {}) {
    built_ = true;
    output_shape_ = std::move(output_shape);
  }
  /// For a layer that computes with floats only: integers and booleans are cast to the compute dtype, too.
  void cast_integers() { casts_integers_ = true; }
  /// Sets the penalty on its outputs, which is added to the loss.
  void set_activity_regularizer(const Choice<Regularizer>& regularizer);
  /// Its name in errors: Dense "dense_1".
  std::string where() const;
  /// Throws Error(value) if `inner` is this layer or contains it, or if its layers would be nested more than 100 deep.
  void check_can_hold(const Layer& inner) const;

  /// Records the layers that are built on this thread during its lifetime. Its destructor resets them to their previous
  /// state, without variables, unless keep() was called: a build is complete or has no effect.
  class Building {
   public:
    Building();
    ~Building();
    Building(const Building&) = delete;
    Building& operator=(const Building&) = delete;
    /// Keeps the layers in their built state.
    void keep() { kept_ = true; }

   private:
    friend class Layer;
    struct Before {
      Layer* layer;
      std::size_t weights, states, regularized;
    };
    std::vector<Before> all_;  // of the outermost one
    std::size_t first_ = 0;
    bool outermost_, kept_ = false;
    static thread_local std::vector<Before>* noted;
  };

 private:
  enum class Which : std::uint8_t { all, weights, trained };
  std::vector<Variable> collect(Which which) const;
  std::vector<LayerPtr> inside(bool trained, int depth) const;
  void regularize_activity(Value y) const;
  void track(const std::vector<Variable>& read, std::uint64_t made_before);
  friend std::shared_ptr<const LayerCall> noted(std::shared_ptr<const LayerCall> call);
  friend class ShapesOfCall;

  std::string class_name_, name_;
  DTypePolicy policy_;
  bool trainable_, built_ = false, keeps_input_dtype_ = false, casts_integers_ = false, warned_ = false,
                   is_operation_ = false;
  std::vector<Variable> weights_, states_;
  std::vector<std::pair<Variable, RegularizerPtr>> regularized_;
  RegularizerPtr activity_regularizer_;
  std::optional<bool> supports_masking_;
  mutable bool mask_warned_ = false;
  std::optional<Shape> input_shape_, output_shape_;
  std::vector<std::string> output_keys_;
  std::vector<std::weak_ptr<const LayerCall>> calls_;  // weak, for a call holds its layer
};

/// During its lifetime, layers on this thread create variables without values and memory: for loading a model, whose
/// shapes are checked before its values are loaded. It skips as many random streams as the values would have used.
class UnsetVariables {
 public:
  UnsetVariables();
  ~UnsetVariables();
  UnsetVariables(const UnsetVariables&) = delete;
  UnsetVariables& operator=(const UnsetVariables&) = delete;

 private:
  bool outer_;
};

/// "dense", "dense_1", …: the next name of that kind since the start of the process, or the last reset_names().
std::string unique_name(std::string_view class_name);
/// Restarts the numbering of names.
void reset_names();

}  // namespace etude
