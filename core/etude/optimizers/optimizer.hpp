#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/choice.hpp"
#include "etude/classes/class_entry.hpp"
#include "etude/graph/graph.hpp"
#include "etude/optimizers/loss_scale.hpp"
#include "etude/optimizers/schedule.hpp"

namespace etude {

/// The options of every optimizer. The options of each class have these fields too.
struct OptimizerOptions {
  /// Length of a step: a number or a schedule.
  LearningRate learning_rate = 0.001;
  /// Each step subtracts this times the learning rate times the variable from the variable, before the update (O-4).
  std::optional<double> weight_decay = {};
  /// At most one of these (O-12): the largest norm of the gradient of one variable, the largest magnitude of an element
  /// of it, the largest norm of all gradients together.
  std::optional<double> clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  /// Whether to keep a moving average of each variable (O-13), by which fit replaces the variables when it ends; and
  /// the number of steps after which it also replaces them.
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  /// The factor by which scale_loss multiplies the loss, and apply divides the gradients, at every step.
  std::optional<double> loss_scale_factor = {};
  /// The number of calls of apply for one update, by the mean of their gradients (O-14). A schedule counts calls.
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = {};
};

/// The options of an optimizer that all have.
template <class Options> OptimizerOptions shared_options(const Options& options) {
  return {.learning_rate = options.learning_rate,
          .weight_decay = options.weight_decay,
          .clipnorm = options.clipnorm,
          .clipvalue = options.clipvalue,
          .global_clipnorm = options.global_clipnorm,
          .use_ema = options.use_ema,
          .ema_momentum = options.ema_momentum,
          .ema_overwrite_frequency = options.ema_overwrite_frequency,
          .loss_scale_factor = options.loss_scale_factor,
          .gradient_accumulation_steps = options.gradient_accumulation_steps,
          .name = options.name};
}
/// The rows of the last fields in the options of all optimizers, in Keras's order.
template <class Options> constexpr auto optimizer_fields() {
  return option_rows(
      option<&Options::clipnorm>("Largest norm of the gradient of one variable."),
      option<&Options::clipvalue>("Largest magnitude of an element of a gradient."),
      option<&Options::global_clipnorm>("Largest norm of all gradients together."),
      option<&Options::use_ema>("Whether a moving average of each variable is kept; training ends with the averages."),
      option<&Options::ema_momentum>("Fraction of the averages that a step keeps, from 0 to 1."),
      option<&Options::ema_overwrite_frequency>("Steps after which variables are replaced by their averages."),
      option<&Options::loss_scale_factor>("Factor of the loss, by which gradients are divided."),
      option<&Options::gradient_accumulation_steps>("Steps of gradients for one update."),
      option<&Options::name>("Name of the optimizer."));
}

/// Updates variables to minimize a loss. Subclasses define `update_step` for one variable; the plan combines the
/// updates of all variables into one pass over flat memory. Source: keras/src/optimizers/base_optimizer.py.
class Optimizer : public Described {
 public:
  using Kind = Optimizer;
  /// Throws Error(value) for a number out of its range, and for more than one way of clipping.
  explicit Optimizer(OptimizerOptions options);
  virtual ~Optimizer() = default;
  /// Its name.
  const std::string& name() const { return options_.name; }

  /// Creates the slots of these variables; later calls create those of new variables.
  virtual void build(const std::vector<Variable>& variables);
  /// Puts the slots of these variables first, in their order: that of an optimizer which is built for them. Returns the
  /// slots of other variables, which such an optimizer does not have.
  virtual std::vector<Variable> sort_slots(const std::vector<Variable>& variables);
  /// Within a trace: one step for each variable that has a gradient, and iterations + 1. In this order: gradients are
  /// all-reduced over the replicas, divided by the loss's scale, accumulated, clipped; variables decay, are updated,
  /// are averaged, and then satisfy their constraints (O-20). With a dynamic scale, nothing of that takes effect unless
  /// all gradients are finite. Throws Error(value) if there is no gradient, or if the numbers of gradients and
  /// variables differ, and Error(state) if there is a scale and the loss was not scaled.
  void apply(const std::vector<Value>& gradients, const std::vector<Variable>& variables);
  /// The loss to differentiate: times loss_scale_factor, or the dynamic scale.
  Value scale_loss(Value loss);
  /// Starts dynamic scaling of the loss, so that gradients in float16 neither vanish nor overflow.
  /// optimizers::loss_scale_optimizer calls it, and compile() if a model computes in float16. Throws Error(value) if
  /// there is a loss_scale_factor, and for numbers that LossScale does not accept.
  void scale_loss_dynamically(double initial_scale = 32768, std::int64_t growth_steps = 2000);
  /// The dynamic scale of the loss, if there is one.
  const std::optional<LossScale>& loss_scale() const { return loss_scale_; }
  /// Whether it scales the loss, dynamically or by a loss_scale_factor.
  bool scales_loss() const { return loss_scale_ || options_.loss_scale_factor; }
  /// The gradients, limited by clipnorm, clipvalue or global_clipnorm; empty ones stay empty.
  std::vector<Value> clip_gradients(std::vector<Value> gradients) const;

  /// Assigns the next value of `variable` within the trace. `learning_rate` is a scalar of the variable's dtype.
  virtual void update_step(Value gradient, const Variable& variable, Value learning_rate) = 0;

  /// Excludes these variables, and those with names that match one of the regular expressions, from weight decay
  /// (O-15). Replaces the exclusions of earlier calls. Throws Error(state) after the first step, Error(value) for an
  /// invalid regular expression.
  void exclude_from_weight_decay(const std::vector<Variable>& variables, const std::vector<std::string>& names = {});
  /// With use_ema, replaces the trained ones of these variables by their averages, as fit does when it ends.
  virtual void finalize_variable_values(const std::vector<Variable>& variables);

  /// Whether it keeps averages of the variables.
  virtual bool use_ema() const { return options_.use_ema; }

  /// Whether one learning rate applies to all variables.
  virtual bool has_learning_rate() const { return true; }
  /// The learning rate of the next step. Throws Error(state) unless has_learning_rate().
  virtual double learning_rate() const;
  /// Takes effect from the next step on; nothing is traced again. Throws Error(state) if there is a schedule (O-17),
  /// and unless has_learning_rate().
  virtual void set_learning_rate(double learning_rate);
  /// The number of updates.
  std::int64_t iterations() const;
  /// The number of calls of apply, the learning rate unless it is a schedule, then the slots, kind by kind (O-21), and
  /// the variables of a dynamic loss scale.
  virtual std::vector<Variable> variables() const;
  /// The same in the order of Keras: the slots of the subclass stand together for each trained variable. Without the
  /// variables of a dynamic loss scale.
  std::vector<Variable> keras_variables() const;
  /// The slots of each kind, in the order of their variables: averages and accumulated gradients, if there are any,
  /// then the subclass's own.
  virtual std::vector<std::vector<Variable>> slots() const;
  /// The slots of one variable, in the order of their kinds. None before build().
  std::vector<Variable> slots_for(const Variable& variable) const;

 protected:
  /// A kind of slot: a variable that an optimizer keeps for each trained variable.
  struct SlotKind {
    /// The name: "velocity".
    std::string name;
    /// The initial value of its elements.
    double initial = 0;
    /// Its shape. Default: that of the variable.
    std::optional<Shape> shape = {};
    /// Whether it starts as the variable.
    bool starts_as_variable = false;
  };
  /// The slots of a variable, in the order of their creation. A variable may lack the last ones.
  virtual std::vector<SlotKind> slot_kinds(const Variable&) const { return {}; }
  /// The weight decay of a variable.
  virtual std::optional<double> weight_decay_of(const Variable&) const { return options_.weight_decay; }
  /// The variables that exist once, for all trained variables.
  virtual std::vector<Variable> common_variables() const { return {}; }
  /// Called before the updates of a step; assigns common variables.
  virtual void begin_step() {}
  /// The slot of the kind with index `kind` that belongs to `variable`.
  const Variable& slot(std::size_t kind, const Variable& variable) const { return slots_of(variable).own[kind]; }
  /// iterations + 1, as a scalar of `dtype`: t in the papers.
  Value step_number(DType dtype) const;
  /// 1 - beta^t without the loss of digits by subtraction in float32.
  static Value one_minus_power(double beta, Value t);
  /// Whether a regular expression matches in a text. Throws Error(value) naming `option` for an invalid one.
  bool is_found(const std::string& pattern, const std::string& text, const char* option) const;

  /// Within a trace: one step with gradients that are all-reduced and divided by the loss's scale. `updated` are their
  /// variables, `all` also those without a gradient.
  virtual void step(std::vector<Value> gradients, const std::vector<Variable>& updated,
                    const std::vector<Variable>& all);
  /// step() of another optimizer.
  static void step_of(Optimizer& optimizer, std::vector<Value> gradients, const std::vector<Variable>& updated,
                      const std::vector<Variable>& all) {
    optimizer.step(std::move(gradients), updated, all);
  }
  /// Within a trace: counts a call.
  void count_call();

  /// Throw Error(value) unless `number`, named `what`, is from 0 to 1; is finite and not negative.
  void check_fraction(const char* what, double number) const;
  /// Throws Error(value) unless `number`, named `what`, is finite and not negative.
  void check_not_negative(const char* what, double number) const;

 private:
  struct Slots {
    Variable variable, average, accumulator;  ///< the last two only if the options require them
    std::vector<Variable> own;
  };
  const Slots& slots_of(const Variable& variable) const;
  Variable make_slot(const Variable& variable, const SlotKind& kind) const;
  void check_options() const;
  bool decays(const Variable& variable) const;
  Value traced_learning_rate() const;
  Value traced_iterations() const;
  void accumulate(const std::vector<Value>& gradients, const std::vector<Variable>& variables);
  void update(std::vector<Value> gradients, const std::vector<Variable>& variables);
  void average(const std::vector<Variable>& variables);
  static void constrain(const std::vector<Variable>& variables);
  static void keep_where(Value condition, const std::vector<Graph::Assignment>& before);

  OptimizerOptions options_;
  Variable learning_rate_, iterations_;
  std::vector<Slots> slots_;
  std::vector<Variable> excluded_;
  std::vector<std::string> excluded_names_;
  std::optional<LossScale> loss_scale_;
  bool loss_is_scaled_ = false;  ///< since the last step
};
using OptimizerPtr = std::shared_ptr<Optimizer>;

namespace optimizers {

/// Finds an optimizer by name, or returns the object; throws Error(value), listing all names, for an unknown name.
OptimizerPtr get(const Choice<Optimizer>& choice);

}  // namespace optimizers
}  // namespace etude
