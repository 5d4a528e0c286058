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
#include "etude/graph/graph.hpp"
#include "etude/initializers/initializer.hpp"
#include "etude/regularizers/regularizer.hpp"

namespace etude {

class Layer;
using LayerPtr = std::shared_ptr<Layer>;
class SymbolicTensor;

/// What every layer can be given.
struct LayerOptions {
  std::string name{};  ///< Default: the class's name in snake_case, numbered.
  /// What it computes in and what its variables are, by the name of a DTypePolicy. Default: dtype_policy().
  std::string dtype{};
  bool trainable = true;
};

/// Options of a layer, which visit their fields. A layer without variables may leave out `trainable`.
template <class Options>
concept OptionsOfLayer = requires(Options& options) {
  Options::fields();
  options.name;
};
/// The options that a layer's own options share with all layers.
template <OptionsOfLayer Options> LayerOptions layer_options(const Options& options) {
  LayerOptions result{.name = options.name};
  if constexpr (requires { options.dtype; }) result.dtype = options.dtype;
  if constexpr (requires { options.trainable; }) result.trainable = options.trainable;
  return result;
}

/// The rows of what every layer can be given, and of the weights and outputs of those with a kernel and a bias.
template <class Options> constexpr auto layer_fields() {
  constexpr auto own =
      option_rows(option<&Options::name>("Name of the layer. Default: that of its class, such as \"dense_1\"."),
                  option<&Options::dtype>(
                      "Dtype of variables and results, or a policy such as \"mixed_float16\". Default: the policy "
                      "that is set."));
  if constexpr (requires { &Options::trainable; })
    return option_rows(own, option<&Options::trainable>("Whether its variables are trained."));
  else
    return own;
}
/// The rows of the initializers and regularizers of a layer with a kernel and a bias.
template <class Options> constexpr auto weight_fields() {
  return option_rows(option<&Options::kernel_initializer>("First values of the kernel."),
                     option<&Options::bias_initializer>("First values of the bias."),
                     option<&Options::kernel_regularizer>("Penalty on the kernel, which is added to the loss."),
                     option<&Options::bias_regularizer>("Penalty on the bias, which is added to the loss."),
                     option<&Options::activity_regularizer>("Penalty on the result, which is added to the loss."));
}

/// A piece of a model: variables, and what it makes of a Value. Subclasses override `call`, and `build` if they have
/// variables. A Variable of their own that call() reads becomes a weight of the layer at its first call, as Keras
/// tracks attributes: it is trained, counted, saved and loaded. It must be there before call(): one that is trainable
/// and is made within call() would be another one in each trace; that is warned of. Source: keras/src/layers/layer.py.
class Layer : public std::enable_shared_from_this<Layer>, public Described {
 public:
  using Kind = Layer;
  using Product = Layer;
  /// A layer of that class, which `options` may name.
  explicit Layer(std::string_view class_name, const LayerOptions& options = {});
  /// Of a class with options of its own, of which its config is written.
  template <OptionsOfLayer Options> Layer(const ClassEntry& entry, Options options)
      : Layer(entry.class_name, layer_options(options)) {
    describe({entry, std::move(options)});
  }
  virtual ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// Its name, which is unique unless it was given: "dense_1".
  const std::string& name() const { return name_; }
  /// Keras's name of its class: "Dense".
  std::string_view class_name() const { return class_name_; }
  /// What it computes in.
  DType compute_dtype() const { return policy_.compute_dtype; }
  /// What its variables are.
  DType variable_dtype() const { return policy_.variable_dtype; }
  /// Both dtypes.
  const DTypePolicy& dtype_policy() const { return policy_; }

  /// Within a trace: builds the layer for the Value's shape if it is not built yet, casts floats to the compute dtype,
  /// and calls it. The mask of x goes with a result that has its axes, and more, unless the layer gives one of its own.
  /// Throws Error(value) for a layer of several outputs.
  Value operator()(Value x, bool training = false);
  /// The same of several inputs, of which one may be left empty where the layer can do without; one Value per output.
  Outputs operator()(const std::vector<Value>& inputs, bool training = false);
  /// Outside a trace: traces itself, runs once on the default device, and throws the trace away.
  Tensor operator()(const Tensor& x, bool training = false);
  Tensor operator()(const std::vector<Tensor>& inputs, bool training = false);
  /// The same of a layer of several outputs: a Tensor for each.
  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, bool training = false);
  /// Outside a trace: describes a model, which Functional makes of such descriptions. Builds the layer. It must be held
  /// by a std::shared_ptr, as the functions in layers:: give it.
  SymbolicTensor apply(const SymbolicTensor& x);
  SymbolicTensor apply(const std::vector<SymbolicTensor>& inputs);
  /// The same of a layer of several outputs.
  std::vector<SymbolicTensor> apply_all(const std::vector<SymbolicTensor>& inputs);

  /// Makes the variables for inputs of `input_shape`, batch axis included.
  virtual void build(const Shape& input_shape) { static_cast<void>(input_shape); }
  /// The same of several inputs; those that were left out are not among them.
  virtual void build_for(const std::vector<Shape>& input_shapes) { build(input_shapes.front()); }
  /// What the layer makes of x. `training` is false in evaluate and predict.
  virtual Value call(Value x, bool training) = 0;
  /// What a layer of several inputs, or outputs, makes of them; one of one input throws Error(value) here.
  virtual Outputs call_with(const std::vector<Value>& inputs, bool training);
  /// Of a layer that draws: what its draws depend on, which is saved with the model. Setting it counts from the next
  /// trace on.
  virtual std::optional<RandomKey> random_key() const { return {}; }
  /// Sets what random_key() gives.
  virtual void set_random_key(const RandomKey&) {}
  /// Layers inside this one, in order.
  virtual std::vector<LayerPtr> layers() const { return {}; }
  /// All layers inside this one, at any depth, each once: a layer comes before those inside it. Throws Error(value) if
  /// they are nested more than 100 deep.
  std::vector<LayerPtr> layers_inside() const { return inside(false, 1); }

  /// Whether its variables were made.
  bool built() const { return built_; }
  /// The shapes of the last input and output, batch axis included; empty before the first call.
  const std::optional<Shape>& input_shape() const { return input_shape_; }
  /// The shape of the last output, batch axis included; empty before the first call.
  const std::optional<Shape>& output_shape() const { return output_shape_; }

  /// Whether its variables are trained. Nothing inside a layer that is not trainable is trained. What compile() saw is
  /// what counts (L-28).
  bool trainable() const { return trainable_; }
  /// Sets it for this layer and all layers inside.
  void set_trainable(bool trainable);
  /// Sets it for this layer alone.
  void set_own_trainable(bool trainable) { trainable_ = trainable; }

  /// All variables, its own and those of the layers inside, in build order.
  std::vector<Variable> variables() const;
  /// Those that are trained.
  std::vector<Variable> trainable_variables() const;
  /// Those that are not trained.
  std::vector<Variable> non_trainable_variables() const;
  /// Within a trace: what the sizes of trained weights add to the loss.
  std::vector<Value> regularization_losses() const;
  /// Within a trace: adds a scalar to the loss of the step, such as what this layer's outputs cost. Of several replicas
  /// the mean of their scalars counts. A call of the layer, or of a model that it is part of, drops what was added
  /// before; within the outermost call all calls of a shared layer count.
  void add_loss(Value loss);
  /// Within a trace: what this layer and those inside it added to the loss, activity regularizers included.
  std::vector<Value> added_losses() const;
  /// Parameters: elements of all variables.
  std::int64_t count_params() const;
  /// Its own alone, without those of the layers inside: weights; and state, such as that of random draws.
  const std::vector<Variable>& own_weights() const { return weights_; }
  /// The state of its random draws, without that of the layers inside.
  const std::vector<Variable>& own_states() const { return states_; }
  /// The variables that are saved and loaded: all but the state of random draws.
  std::vector<Variable> weights() const;
  /// The values of weights(), copied to the host.
  std::vector<Tensor> get_weights() const;
  /// Throws Error(value) unless `weights` has as many tensors, of the same shapes, as the layer; then nothing is set.
  void set_weights(const std::vector<Tensor>& weights);

 protected:
  /// What add_weight makes.
  struct Weight {
    /// What it is called: "kernel".
    std::string name;
    /// Its extents.
    Shape shape;
    /// Its first values.
    Choice<Initializer> initializer = "glorot_uniform";
    /// Whether optimizers update it.
    bool trainable = true;
    /// What its size adds to the loss.
    Choice<Regularizer> regularizer = {};
    /// How what replicas assign to it becomes one value.
    Aggregation aggregation = Aggregation::none;
  };
  /// Makes a variable of this layer.
  Variable add_weight(const Weight& weight);
  /// State that is not a weight, such as the counter of a layer that draws. It begins as zeros.
  Variable add_state(const std::string& name, const Shape& shape, DType dtype);
  /// A variable's value within the trace, in the compute dtype.
  Value value_of(const Variable& variable) const;
  /// The inputs, floats cast to the compute dtype; builds the layer for their shapes if it is not built yet.
  std::vector<Value> accept(const std::vector<Value>& inputs);
  /// The mask of its result, or an empty Value: by default that of the first input if the result has its axes, and
  /// more.
  virtual Value mask_of(const std::vector<Value>& inputs, Value y) const;
  /// For a layer whose inputs are no quantities, or none of its own: they are not rounded to half precision.
  void keep_input_dtype() { keeps_input_dtype_ = true; }
  /// For a layer whose variables are there before it is called, and perhaps the shape of its output.
  void set_built(std::optional<Shape> output_shape = {}) {
    built_ = true;
    output_shape_ = std::move(output_shape);
  }
  /// For a layer that computes with floats alone: integers and booleans are cast to the compute dtype, too.
  void cast_integers() { casts_integers_ = true; }
  /// What the size of its outputs adds to the loss.
  void set_activity_regularizer(const Choice<Regularizer>& regularizer);
  /// How errors name it: Dense "dense_1".
  std::string where() const;
  /// Throws Error(value) if `inner` is this layer or holds it, or if its layers would be nested more than 100 deep.
  void check_can_hold(const Layer& inner) const;

  /// Notes the layers that are built on this thread while it lives. Unless it is told to keep them, they are as they
  /// were before, without variables, when it ends: a build is whole or did not happen.
  class Building {
   public:
    Building();
    ~Building();
    Building(const Building&) = delete;
    Building& operator=(const Building&) = delete;
    /// Keeps the layers as they are built.
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

  std::string class_name_, name_;
  DTypePolicy policy_;
  bool trainable_, built_ = false, keeps_input_dtype_ = false, casts_integers_ = false, warned_ = false;
  std::vector<Variable> weights_, states_;
  std::vector<std::pair<Variable, RegularizerPtr>> regularized_;
  RegularizerPtr activity_regularizer_;
  std::optional<Shape> input_shape_, output_shape_;
};

/// While it lives, the layers of this thread make variables that have no values and take no memory: for a model whose
/// values are loaded, and whose shapes are compared with them before. Of random streams as many are passed over as
/// values would have been drawn from.
class UnsetVariables {
 public:
  UnsetVariables();
  ~UnsetVariables();
  UnsetVariables(const UnsetVariables&) = delete;
  UnsetVariables& operator=(const UnsetVariables&) = delete;

 private:
  bool outer_;
};

/// "dense", "dense_1", …: the next name of that kind since the process, or the last reset_names(), began.
std::string unique_name(std::string_view class_name);
/// Begins to number names anew.
void reset_names();

}  // namespace etude
