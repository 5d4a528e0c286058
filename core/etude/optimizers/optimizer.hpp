#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/choice.hpp"
#include "etude/classes/class_entry.hpp"
#include "etude/graph/graph.hpp"
#include "etude/optimizers/loss_scale.hpp"
#include "etude/optimizers/schedule.hpp"

namespace etude {

/// What every optimizer can be asked for besides its own arithmetic. The options of each have these fields too.
struct OptimizerOptions {
  /// Length of a step: a number or a schedule.
  LearningRate learning_rate = 0.001;
  /// Each step takes this times the learning rate of a variable away from it, before the update (O-4).
  std::optional<double> weight_decay = {};
  /// At most one of these (O-12): the longest that the gradient of one variable may be, the largest that an element of
  /// it may be, the longest that all gradients together may be.
  std::optional<double> clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  /// Whether to keep a moving average of each variable (O-13), with which fit replaces the variables when it ends; and
  /// after how many steps it replaces them in between.
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  /// By what scale_loss multiplies the loss, and apply divides the gradients, at every step.
  std::optional<double> loss_scale_factor = {};
  /// How many calls of apply make one update, of the mean of their gradients (O-14). A schedule counts calls.
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = {};
};

/// Those of an optimizer's own options that all have.
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
/// The rows of the fields that end the options of all optimizers, in Keras's order.
template <class Options> constexpr auto optimizer_fields() {
  return option_rows(
      option<&Options::clipnorm>("Largest norm of the gradient of one variable."),
      option<&Options::clipvalue>("Largest magnitude of an element of a gradient."),
      option<&Options::global_clipnorm>("Largest norm of all gradients together."),
      option<&Options::use_ema>("Whether a moving average of each variable is kept; training ends with the averages."),
      option<&Options::ema_momentum>("Share of the averages that a step keeps, from 0 to 1."),
      option<&Options::ema_overwrite_frequency>("Steps after which variables are replaced by their averages."),
      option<&Options::loss_scale_factor>("Factor of the loss, by which gradients are divided."),
      option<&Options::gradient_accumulation_steps>("Steps whose gradients make one update."),
      option<&Options::name>("Name of the optimizer."));
}

/// Updates variables to minimize a loss. Subclasses state `update_step` for one variable; the plan joins the updates of
/// all of them into one pass over flat memory. Source: keras/src/optimizers/base_optimizer.py.
class Optimizer : public Described {
 public:
  using Kind = Optimizer;
  /// Throws Error(value) for a number out of its range, and when there is more than one way of clipping.
  explicit Optimizer(OptimizerOptions options);
  virtual ~Optimizer() = default;
  /// Its name.
  const std::string& name() const { return options_.name; }

  /// Makes the slots for these variables; later calls make those of variables not seen before.
  void build(const std::vector<Variable>& variables);
  /// Within a trace: one step for each variable that has a gradient, and iterations + 1. In this order: gradients are
  /// added up over the replicas, divided by the loss's scale, accumulated, clipped; variables decay, are updated, are
  /// averaged. Where the scale is dynamic, nothing of that counts unless all gradients are finite. Throws Error(value)
  /// when none has a gradient, or when there are not as many gradients as variables, and Error(state) when there is a
  /// scale and the loss was not scaled.
  void apply(const std::vector<Value>& gradients, const std::vector<Variable>& variables);
  /// The loss that gradients are to be taken of: times loss_scale_factor, or the dynamic scale.
  Value scale_loss(Value loss);
  /// From now on the loss is scaled so that gradients in float16 neither vanish nor overflow; what
  /// optimizers::loss_scale_optimizer does, and compile() where a model computes in float16. Throws Error(value) where
  /// there is a loss_scale_factor, and for numbers that LossScale does not take.
  void scale_loss_dynamically(double initial_scale = 32768, std::int64_t growth_steps = 2000);
  /// The dynamic scale of the loss; none without one.
  const std::optional<LossScale>& loss_scale() const { return loss_scale_; }
  /// Whether it does so, or by a loss_scale_factor.
  bool scales_loss() const { return loss_scale_ || options_.loss_scale_factor; }
  /// Gradients as clipnorm, clipvalue or global_clipnorm bound them; empty ones stay empty.
  std::vector<Value> clip_gradients(std::vector<Value> gradients) const;

  /// The next value of `variable`, assigned within the trace. `learning_rate` is a scalar of the variable's dtype.
  virtual void update_step(Value gradient, const Variable& variable, Value learning_rate) = 0;

  /// Spares these variables, and those in whose name one of the regular expressions is found, the weight decay (O-15).
  /// Replaces what an earlier call said. Throws Error(state) after the first step, Error(value) for what is no regular
  /// expression.
  void exclude_from_weight_decay(const std::vector<Variable>& variables, const std::vector<std::string>& names = {});
  /// Under use_ema, gives those of the variables that were trained their averages: what fit does when it ends.
  void finalize_variable_values(const std::vector<Variable>& variables);

  /// Whether it keeps averages of the variables.
  bool use_ema() const { return options_.use_ema; }

  /// That of the next step.
  double learning_rate() const;
  /// Takes effect from the next step on; nothing is traced again. Throws Error(state) where there is a schedule (O-17).
  void set_learning_rate(double learning_rate);
  /// How many updates there were.
  std::int64_t iterations() const;
  /// How often apply ran, the learning rate unless it is a schedule, then the slots, kind by kind (O-21), and the
  /// variables of a dynamic loss scale.
  std::vector<Variable> variables() const;
  /// The slots of each kind, in the order of the variables they belong to: averages and accumulated gradients, where
  /// there are any, then the subclass's own.
  std::vector<std::vector<Variable>> slots() const;

 protected:
  /// A kind of slot: what an optimizer keeps for each variable.
  struct SlotKind {
    /// What it is called: "velocity".
    std::string name;
    /// Its first values.
    double initial = 0;
  };
  /// The slots of a variable, in the order in which they are made. A variable may lack the last ones.
  virtual std::vector<SlotKind> slot_kinds(const Variable&) const { return {}; }
  /// The weight decay of a variable.
  virtual std::optional<double> weight_decay_of(const Variable&) const { return options_.weight_decay; }
  /// What there is once for all variables.
  virtual std::vector<Variable> common_variables() const { return {}; }
  /// Called before the updates of a step: where common variables are assigned.
  virtual void begin_step() {}
  /// The slot of the kind with index `kind` that belongs to `variable`.
  const Variable& slot(std::size_t kind, const Variable& variable) const { return slots_of(variable).own[kind]; }
  /// iterations + 1, as a scalar of `dtype`: t in the papers.
  Value step_number(DType dtype) const;
  /// 1 - beta^t without the digits that the subtraction loses in float32.
  static Value one_minus_power(double beta, Value t);
  /// Whether a regular expression is found in a text. Throws Error(value) naming `option` for what is none.
  bool is_found(const std::string& pattern, const std::string& text, const char* option) const;

  /// Throw Error(value) unless `number`, called `what`, is from 0 to 1; is finite and not negative.
  void check_share(const char* what, double number) const;
  /// Throws Error(value) unless `number`, called `what`, is finite and not negative.
  void check_not_negative(const char* what, double number) const;

 private:
  struct Slots {
    Variable variable, average, accumulator;  ///< the last two where the options ask for them
    std::vector<Variable> own;
  };
  const Slots& slots_of(const Variable& variable) const;
  Variable make_slot(const Variable& variable, const std::string& kind) const;
  void check_options() const;
  bool decays(const Variable& variable) const;
  Value traced_learning_rate() const;
  Value traced_iterations() const;
  void accumulate(const std::vector<Value>& gradients, const std::vector<Variable>& variables);
  void update(std::vector<Value> gradients, const std::vector<Variable>& variables);
  void average(const std::vector<Variable>& variables);
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

/// By name or object; throws Error(value) listing the names there are.
OptimizerPtr get(const Choice<Optimizer>& choice);

}  // namespace optimizers
}  // namespace etude
