/// Losses, metrics, optimizers, … whose classes a user wrote in JavaScript. web/src/custom.ts holds the handles.
#include "bind.hpp"
#include "user_functions.hpp"

namespace etude::js {

// Outside of the anonymous namespace, whose name would be part of those of the members.
struct MetricVariableOptions {
  Shape shape = {};
  Choice<Initializer> initializer = "zeros";
  std::string dtype = {};
  std::string name = "variable";
  static constexpr auto fields() {
    using Options = MetricVariableOptions;
    return option_rows(option<&Options::shape>("Its extents. Default: those of a scalar."),
                       option<&Options::initializer>("Initial values, to which resetState() sets it."),
                       option<&Options::dtype>("Its dtype. Default: float32."),
                       option<&Options::name>("Name of the variable."));
  }
};

struct CustomOptimizerOptions {
  LearningRate learning_rate = 0.001;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = {};
  static constexpr auto fields() {
    using Options = CustomOptimizerOptions;
    return option_rows(
        option<&Options::learning_rate>("Length of a step: a number or a schedule."),
        option<&Options::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        optimizer_fields<Options>());
  }
};

namespace {

/// The name of an object: that of its options, or else that of its class.
std::string named(const std::string& name, const std::string& class_name) {
  return name.empty() ? snake_case(class_name) : name;
}

/// The common part of these classes.
class Custom : public UserObject {
 public:
  explicit Custom(const val& link) : functions_{link} {}
  const UserFunctions& functions() const override { return functions_; }

 private:
  UserFunctions functions_;
};

class CustomLoss : public Loss, public Custom {
 public:
  CustomLoss(const std::string& class_name, const losses::LossOptions& options, const val& link)
      : Loss(named(options.name, class_name), reduction_from_name(options.reduction)), Custom(link) {}
  Value call(Value y_true, Value y_pred) override { return functions().run<Value>("call", y_true, y_pred); }
};

class CustomMetric : public Metric, public Custom {
 public:
  CustomMetric(const std::string& name, const val& link) : Metric(name), Custom(link) {}
  void update_state(Value y_true, Value y_pred, Value sample_weight) override {
    const TraceScope scope;
    const Value weight = masked_weight(y_pred, sample_weight);
    updating_ = true;
    const std::shared_ptr<void> end(nullptr, [this](void*) { updating_ = false; });
    functions().run<void>("updateState", y_true, y_pred, weight ? to_js(weight) : val::undefined());
  }
  Value result() const override { return functions().run<Value>("result"); }
  void reset_state() override { functions().run<void>("resetState"); }
  MetricPtr copy() const override { return functions().run<MetricPtr>("copy"); }

  Variable variable(const MetricVariableOptions& options) {
    check(!updating_, ErrorKind::state, "addVariable", "a variable \"", options.name,
          "\" in updateState() - expected variables that are made once - call it in the constructor.");
    const DType dtype = options.dtype.empty() ? this->dtype() : dtype_from_name(options.dtype);
    const Tensor initial = (*initializers::get(options.initializer))(options.shape, dtype);
    const Variable variable = add_variable_of(options.name, initial);
    initial_.push_back(initial);
    return variable;
  }
  void reset_variables() {
    for (std::size_t i = 0; i < initial_.size(); ++i) Variable(variables()[i]).assign(initial_[i]);
  }

 private:
  std::vector<Tensor> initial_;
  bool updating_ = false;
};

class CustomOptimizer : public Optimizer, public Custom {
 public:
  CustomOptimizer(OptimizerOptions options, const val& link) : Optimizer(std::move(options)), Custom(link) {}

  void build(const std::vector<Variable>& variables) override {
    Optimizer::build(variables);
    std::vector<Variable> added;
    for (const Variable& variable : variables)
      if (std::ranges::find(built_, variable) == built_.end()) added.push_back(variable);
    if (added.empty()) return;
    building_ = true;
    const std::shared_ptr<void> end(nullptr, [this](void*) { building_ = false; });
    functions().run<void>("build", added);
    built_.insert(built_.end(), added.begin(), added.end());
  }
  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    functions().run<void>("updateStep", gradient, variable, learning_rate);
  }
  std::vector<std::vector<Variable>> slots() const override {
    std::vector<std::vector<Variable>> result = Optimizer::slots();
    result.push_back(common_variables());
    return result;
  }

  /// Creates the slot of that name. It replaces one that a build that failed made.
  Variable add_slot(const Variable& reference, const std::string& name, const Choice<Initializer>& initializer) {
    check(building_, ErrorKind::state, "addVariableFromReference", "a slot \"", name, "\" of \"", reference.name(),
          "\" outside of build() - expected slots that are made once - call it in build().");
    Slot slot{name, reference,
              Variable(this->name() + '/' + reference.name() + '_' + name,
                       (*initializers::get(initializer))(reference.shape(), reference.dtype()), false)};
    if (const Slot* known = find(reference, name))
      slots_[static_cast<std::size_t>(known - slots_.data())] = std::move(slot);
    else
      slots_.push_back(std::move(slot));
    return find(reference, name)->variable;
  }
  Variable slot_of(const Variable& reference, const std::string& name) const {
    const Slot* found = find(reference, name);
    check(found != nullptr, ErrorKind::state, "getSlot", "no \"", name, "\" of \"", reference.name(),
          "\" - expected one that build() made - call addVariableFromReference() there.");
    return found->variable;
  }
  Value step_of(DType dtype) const { return step_number(dtype); }

 private:
  struct Slot {
    std::string name;
    Variable reference, variable;
  };
  const Slot* find(const Variable& reference, const std::string& name) const {
    for (const Slot& slot : slots_)
      if (slot.reference == reference && slot.name == name) return &slot;
    return nullptr;
  }
  /// The slots, name by name.
  std::vector<Variable> common_variables() const override {
    std::vector<Variable> result;
    for (const Slot& first : slots_) {
      if (&*std::ranges::find(slots_, first.name, &Slot::name) != &first) continue;
      for (const Slot& slot : slots_)
        if (slot.name == first.name) result.push_back(slot.variable);
    }
    return result;
  }

  std::vector<Variable> built_;
  bool building_ = false;
  std::vector<Slot> slots_;
};

class CustomInitializer : public Initializer, public Custom {
 public:
  using Custom::Custom;
  Tensor operator()(const Shape& shape, DType dtype) override {
    Tensor made = functions().run<Tensor>("call", shape, dtype);
    // A typed array has one axis.
    if (made.shape().rank() == 1 && made.size() == shape.size()) made = made.reshape(shape);
    check(made.shape() == shape, ErrorKind::shape, "Initializer.call", "initial values of shape ", made.shape(),
          " - expected ", shape, " - return a tensor of that shape.");
    return made.astype(dtype);
  }
};

/// A regularizer, a constraint or a schedule: a function of one Value.
template <class Kind> class CustomFunction : public Kind, public Custom {
 public:
  using Custom::Custom;
  Value operator()(Value x) const override {
    const Value result = functions().template run<Value>("call", x);
    const Shape expected = sums ? Shape{} : x.shape();
    check(result.shape() == expected, ErrorKind::shape, where, "a result of shape ", result.shape(), " - expected ",
          expected, sums ? " - sum over all axes." : " - keep the shape.");
    return result;
  }

 private:
  static constexpr bool sums = std::is_same_v<Kind, Regularizer>;
  static constexpr const char* where = sums                               ? "Regularizer.call"
                                       : std::is_same_v<Kind, Constraint> ? "Constraint.call"
                                                                          : "LearningRateSchedule.call";
};
template <class Kind> val function_of(const val& link) {
  return to_js(std::shared_ptr<Kind>(std::make_shared<CustomFunction<Kind>>(link)));
}

}  // namespace

EMSCRIPTEN_BINDINGS(custom) {
  if (in_worker()) return;
  bind<"loss.custom(class_name, options, link)",
       [](std::string class_name, losses::LossOptions options, val link) -> LossPtr {
         const FloatxScope scope(options.dtype, class_name);
         return std::make_shared<CustomLoss>(class_name, options, link);
       }>();

  bind<"metric.custom(class_name, options, link)",
       [](std::string class_name, metrics::MetricOptions options, val link) -> MetricPtr {
         const FloatxScope scope(options.dtype, class_name);
         return std::make_shared<CustomMetric>(named(options.name, class_name), link);
       }>();
  bind<"metric.add_variable(metric, options)", [](MetricPtr metric, MetricVariableOptions options) {
    return dynamic_cast<CustomMetric&>(*metric).variable(options);
  }>();
  bind<"metric.reset_variables(metric)",
       [](MetricPtr metric) { dynamic_cast<CustomMetric&>(*metric).reset_variables(); }>();

  bind<"optimizer.custom(class_name, options, link)",
       [](std::string class_name, CustomOptimizerOptions options, val link) -> OptimizerPtr {
         options.name = named(options.name, class_name);
         return std::make_shared<CustomOptimizer>(shared_options(options), link);
       }>();
  bind<"optimizer.add_variable_from_reference(optimizer, reference, name, initializer?)",
       [](OptimizerPtr optimizer, Variable reference, std::string name, Choice<Initializer> initializer) {
         if (initializer.empty()) initializer = "zeros";
         return dynamic_cast<CustomOptimizer&>(*optimizer).add_slot(reference, name, initializer);
       }>();
  bind<"optimizer.get_slot(optimizer, variable, name)",
       [](OptimizerPtr optimizer, Variable variable, std::string name) {
         return dynamic_cast<CustomOptimizer&>(*optimizer).slot_of(variable, name);
       }>();
  bind<"optimizer.step_number(optimizer, dtype?)", [](OptimizerPtr optimizer, std::optional<DType> dtype) {
    return dynamic_cast<CustomOptimizer&>(*optimizer).step_of(dtype.value_or(floatx()));
  }>();

  // One function for all, because each costs a page some bytes.
  bind<"custom(kind, link)", [](std::string kind, val link) {
    if (kind == "regularizer") return function_of<Regularizer>(link);
    if (kind == "constraint") return function_of<Constraint>(link);
    if (kind == "schedule") return function_of<LearningRateSchedule>(link);
    return to_js(InitializerPtr(std::make_shared<CustomInitializer>(link)));
  }>();
}

}  // namespace etude::js
