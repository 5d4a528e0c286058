#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "etude/etude.hpp"

/// Custom classes of all kinds that are saved, with options that differ from their defaults in `model()`.
namespace etude::custom {

struct GainOptions {
  double factor = 1;
  Choice<Initializer> initializer = "ones";
  Choice<Regularizer> regularizer = {};
  Choice<Constraint> constraint = {};
  std::string name = {}, dtype = {};
  bool trainable = true;
  static constexpr auto fields() {
    return option_rows(option<&GainOptions::factor>("Factor of all features."),
                       option<&GainOptions::initializer>("Initial factors of the features."),
                       option<&GainOptions::regularizer>("Penalty on the factors."),
                       option<&GainOptions::constraint>("Constraint of the factors."), layer_fields<GainOptions>());
  }
};
/// x · factor · factors: [.., n] -> [.., n]. factors [n].
class Gain : public Layer {
 public:
  using Options = GainOptions;
  static constexpr ClassText about{"Gain", "Multiplies features by numbers."};
  explicit Gain(GainOptions options) : Layer(class_entry<Gain>, options), options_(std::move(options)) {}
  void build(const Shape& input_shape) override {
    factors_ = add_weight({.name = "factors",
                           .shape = {input_shape[-1]},
                           .initializer = options_.initializer,
                           .regularizer = options_.regularizer,
                           .constraint = options_.constraint});
  }
  Value call(Value x, bool) override { return x * value_of(factors_) * options_.factor; }

 private:
  GainOptions options_;
  Variable factors_;
};

struct ResidualOptions {
  LayerPtr layer = {};
  std::string name = {}, dtype = {};
  bool trainable = true;
  static constexpr auto fields() {
    return option_rows(option<&ResidualOptions::layer>("Layer whose result is added.", Need::required),
                       layer_fields<ResidualOptions>());
  }
};
/// x + layer(x).
class Residual : public Layer {
 public:
  using Options = ResidualOptions;
  static constexpr ClassText about{"Residual", "Adds the result of a layer."};
  explicit Residual(ResidualOptions options) : Layer(class_entry<Residual>, options), layer_(options.layer) {}
  Value call(Value x, bool training) override { return x + (*layer_)(x, training); }
  std::vector<LayerPtr> layers() const override { return {layer_}; }

 private:
  LayerPtr layer_;
};

struct PowerOptions {
  double exponent = 2;
  std::string reduction = "sum_over_batch_size", name = "power", dtype = {};
  static constexpr auto fields() {
    return option_rows(option<&PowerOptions::exponent>("Exponent of the errors."), losses::loss_fields<PowerOptions>());
  }
};
/// |y_true - y_pred| to a power.
class Power : public Loss {
 public:
  using Options = PowerOptions;
  static constexpr ClassText about{"Power", "Power of the absolute errors."};
  explicit Power(const PowerOptions& options)
      : Loss(options.name, reduction_from_name(options.reduction)), exponent_(options.exponent) {}
  Value call(Value y_true, Value y_pred) override {
    const Value error = ops::absolute(y_true - y_pred) + 1e-6;
    return ops::mean(ops::power(error, ops::scalar(exponent_, error)), {-1});
  }

 private:
  double exponent_;
};

struct LargestOptions {
  double scale = 1;
  std::string name = "largest";
  static constexpr auto fields() {
    return option_rows(option<&LargestOptions::scale>("Factor of the result."),
                       option<&LargestOptions::name>("Name of the metric."));
  }
};
/// The largest absolute error.
class Largest : public Metric {
 public:
  using Options = LargestOptions;
  static constexpr ClassText about{"Largest", "Largest absolute error."};
  explicit Largest(const LargestOptions& options)
      : Metric(options.name), scale_(options.scale), largest_(add_variable("largest")) {}
  void update_state(Value y_true, Value y_pred, Value) override {
    Graph& graph = Graph::current();
    graph.assign(largest_, ops::maximum(graph.read(largest_), ops::max(ops::absolute(y_true - y_pred))));
  }
  Value result() const override { return Graph::current().read(largest_) * scale_; }

 private:
  double scale_;
  Variable largest_;
};

struct HeavyOptions {
  LearningRate learning_rate = 0.01;
  double inertia = 0.5;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "heavy";
  static constexpr auto fields() {
    return option_rows(option<&HeavyOptions::learning_rate>("Length of a step."),
                       option<&HeavyOptions::inertia>("Fraction of the last step that the next one keeps."),
                       option<&HeavyOptions::weight_decay>("Fraction of each variable that a step subtracts."),
                       optimizer_fields<HeavyOptions>());
  }
};
/// SGD with a velocity.
class Heavy : public Optimizer {
 public:
  using Options = HeavyOptions;
  static constexpr ClassText about{"Heavy", "Gradient descent with a velocity."};
  explicit Heavy(const HeavyOptions& options) : Optimizer(shared_options(options)), inertia_(options.inertia) {}
  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Value velocity = graph.read(slot(0, variable)) * inertia_ - learning_rate * gradient;
    graph.assign(slot(0, variable), velocity);
    graph.assign(variable, graph.read(variable) + velocity);
  }

 private:
  std::vector<SlotKind> slot_kinds(const Variable&) const override { return {{"velocity"}}; }
  double inertia_;
};

struct SlowingOptions {
  double first = 0.1;
  static constexpr auto fields() { return option_rows(option<&SlowingOptions::first>("Rate of the first step.")); }
};
/// first / (1 + step).
class Slowing : public LearningRateSchedule {
 public:
  using Options = SlowingOptions;
  static constexpr ClassText about{"Slowing", "Rate that is divided by the number of the step."};
  explicit Slowing(const SlowingOptions& options) : first_(options.first) {}
  Value operator()(Value step) const override { return first_ / (1 + step); }

 private:
  double first_;
};

struct NumberOptions {
  double number = 0;
  static constexpr auto fields() { return option_rows(option<&NumberOptions::number>("The number.")); }
};
class Filled : public Initializer {
 public:
  using Options = NumberOptions;
  static constexpr ClassText about{"Filled", "All elements are one number."};
  explicit Filled(const NumberOptions& options) : number_(options.number) {}
  Tensor operator()(const Shape& shape, DType dtype) override {
    return (*initializers::constant({.value = number_}))(shape, dtype);
  }

 private:
  double number_;
};
class Quartic : public Regularizer {
 public:
  using Options = NumberOptions;
  static constexpr ClassText about{"Quartic", "Sum of fourth powers, times a number."};
  explicit Quartic(const NumberOptions& options) : number_(options.number) {}
  Value operator()(Value x) const override { return ops::sum(ops::square(ops::square(x))) * number_; }

 private:
  double number_;
};
class AtMost : public Constraint {
 public:
  using Options = NumberOptions;
  static constexpr ClassText about{"AtMost", "Weights are a number at most."};
  explicit AtMost(const NumberOptions& options) : number_(options.number) {}
  Value operator()(Value w) const override { return ops::minimum(w, ops::scalar(number_, w)); }

 private:
  double number_;
};

/// Registers all of them. Every test may call it.
inline void register_all() {
  register_class<Gain>("custom");
  register_class<Residual>("custom");
  register_class<Power>("custom");
  register_class<Largest>("custom");
  register_class<Heavy>("custom");
  register_class<Slowing>("custom");
  register_class<Filled>("custom");
  register_class<Quartic>("custom");
  register_class<AtMost>("custom");
}

inline std::shared_ptr<Gain> gain() {
  return std::make_shared<Gain>(GainOptions{.factor = 1.5,
                                            .initializer = make_object<Filled>({.number = 0.25}),
                                            .regularizer = make_object<Quartic>({.number = 0.01}),
                                            .constraint = make_object<AtMost>({.number = 0.3})});
}

/// A compiled model with an object of each class.
inline std::unique_ptr<Model> model() {
  auto model = std::make_unique<Sequential>(
      std::vector<LayerPtr>{layers::dense({.units = 4, .activation = "tanh"}), gain(),
                            std::make_shared<Residual>(ResidualOptions{.layer = gain()}), layers::dense({.units = 1})});
  model->compile(
      {.optimizer = make_object<Heavy>({.learning_rate = make_object<Slowing>({.first = 0.05}), .inertia = 0.75}),
       .loss = make_object<Power>({.exponent = 1.5}),
       .metrics = {make_object<Largest>({.scale = 2, .name = "twice_largest"}), "custom>Largest"}});
  return model;
}

}  // namespace etude::custom
