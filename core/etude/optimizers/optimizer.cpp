#include "etude/optimizers/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "etude/base/detail/device_libraries.hpp"
#include "etude/base/host.hpp"
#include "etude/graph/detail/node.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/optimizers/given_gradients.hpp"

namespace etude {
namespace {

/// count / by, rounded down, of int32.
Value floor_divide(Value count, std::int64_t by) {
  const auto quotient = [&](Value of) {
    return ops::cast(ops::floor(ops::cast(of, DType::float32) / static_cast<double>(by)), DType::int32);
  };
  // float32 has too few digits for a large count: the remainder after the first quotient is divided again.
  const Value most = quotient(count);
  return most + quotient(count - most * static_cast<double>(by));
}

Value is_multiple(Value count, std::int64_t of) {
  return ops::equal(count, floor_divide(count, of) * static_cast<double>(of));
}

Value squared_norm(Value gradient) { return ops::sum(ops::square(gradient)); }

/// The factor of a gradient with that norm that limits it to `longest`.
Value shortening(Value norm, double longest) { return longest / ops::maximum(norm, ops::scalar(longest, norm)); }

}  // namespace

Optimizer::Optimizer(OptimizerOptions options)
    : options_(std::move(options)), iterations_(name() + "/iterations", Tensor({}, DType::int32), false) {
  check_options();
  if (options_.learning_rate.schedule()) return;
  learning_rate_ = Variable(name() + "/learning_rate", Tensor({}, floatx()), false);
  set_learning_rate(options_.learning_rate.number());
}

void Optimizer::check_fraction(const char* what, double number) const {
  check(number >= 0 && number <= 1, ErrorKind::value, name(), what, " = ", number,
        " - expected a number from 0 to 1 - set ", what, '.');
}

void Optimizer::check_not_negative(const char* what, double number) const {
  check(std::isfinite(number) && number >= 0, ErrorKind::value, name(), what, " = ", number,
        " - expected a finite number of 0 or more - set ", what, '.');
}

void Optimizer::check_options() const {
  const auto above_zero = [&](const char* what, const std::optional<double>& number) {
    check(!number || (std::isfinite(*number) && *number > 0), ErrorKind::value, name(), what, " = ", number.value_or(0),
          " - expected a finite number above 0 - set ", what, ", or leave it out.");
  };
  const auto at_least = [&](const char* what, const std::optional<std::int64_t>& number, std::int64_t least) {
    check(!number || *number >= least, ErrorKind::value, name(), what, " = ", number.value_or(0), " - expected ", least,
          " or more - set ", what, ", or leave it out.");
  };
  if (options_.weight_decay) check_not_negative("weight_decay", *options_.weight_decay);
  above_zero("clipnorm", options_.clipnorm);
  above_zero("clipvalue", options_.clipvalue);
  above_zero("global_clipnorm", options_.global_clipnorm);
  above_zero("loss_scale_factor", options_.loss_scale_factor);
  const int clips =
      options_.clipnorm.has_value() + options_.clipvalue.has_value() + options_.global_clipnorm.has_value();
  check(clips <= 1, ErrorKind::value, name(), clips,
        " ways of clipping - expected one: only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set - "
        "omit the others.");
  check_fraction("ema_momentum", options_.ema_momentum);
  at_least("ema_overwrite_frequency", options_.ema_overwrite_frequency, 1);
  at_least("gradient_accumulation_steps", options_.gradient_accumulation_steps, 2);
}

bool Optimizer::is_found(const std::string& pattern, const std::string& text, const char* option) const {
  try {
    return host().search(pattern, text);
  } catch (const std::invalid_argument& error) {
    fail(ErrorKind::value, name(), option, " of \"", pattern, "\": ", error.what(),
         " - expected a regular expression - check its brackets and backslashes.");
  }
}

/// Computed as 2u / (1 + u) with u = tanh(-t ln(beta) / 2).
Value Optimizer::one_minus_power(double beta, Value t) {
  const Value u = ops::tanh(t * (-std::log(beta) / 2));
  return 2 * u / (1 + u);
}

double Optimizer::learning_rate() const {
  const auto& schedule = options_.learning_rate.schedule();
  if (!schedule) return learning_rate_.value().item();
  return schedule->at(static_cast<std::int64_t>(iterations_.value().item()));
}

void Optimizer::set_learning_rate(double rate) {
  check(!options_.learning_rate.schedule(), ErrorKind::state, name(), "learning_rate = ", rate,
        " - This optimizer was created with a `LearningRateSchedule`, hence its learning rate is not settable - create "
        "it "
        "with a number, or change the schedule.");
  const Tensor number = Tensor::from<double>({}, {rate}).astype(learning_rate_.dtype());
  check(std::isfinite(number.item()) && rate >= 0, ErrorKind::value, name(), "learning_rate = ", rate,
        " - expected a finite ", number.dtype(), " of 0 or more - set the learning rate.");
  learning_rate_.assign(number);
}

std::int64_t Optimizer::iterations() const {
  const auto calls = static_cast<std::int64_t>(iterations_.value().item());
  return calls / options_.gradient_accumulation_steps.value_or(1);
}

// ---- Slots ----

Variable Optimizer::make_slot(const Variable& variable, const SlotKind& kind) const {
  Variable slot(name() + '/' + variable.name() + '_' + kind.name,
                Tensor(kind.shape.value_or(variable.shape()), variable.dtype()), false);
  if (kind.starts_as_variable) slot.assign(variable.value());
  if (kind.initial != 0) slot.fill(kind.initial);
  return slot;
}

void Optimizer::build(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    const bool known = std::ranges::any_of(slots_, [&](const Slots& slots) { return slots.variable == variable; });
    if (known) continue;
    Slots slots{variable, {}, {}, {}};
    if (options_.use_ema) slots.average = make_slot(variable, {.name = "average", .starts_as_variable = true});
    if (options_.gradient_accumulation_steps) slots.accumulator = make_slot(variable, {"gradient_accumulator"});
    for (const SlotKind& kind : slot_kinds(variable)) slots.own.push_back(make_slot(variable, kind));
    slots_.push_back(std::move(slots));
  }
}

std::vector<Variable> Optimizer::sort_slots(const std::vector<Variable>& variables) {
  auto next = slots_.begin();
  for (const Variable& variable : variables) {
    const auto found = std::find_if(next, slots_.end(), [&](const Slots& slots) { return slots.variable == variable; });
    if (found == slots_.end()) continue;
    std::rotate(next, found, found + 1);
    ++next;
  }
  std::vector<Variable> others;
  for (; next != slots_.end(); ++next)
    for (const Variable& slot : slots_for(next->variable)) others.push_back(slot);
  return others;
}

const Optimizer::Slots& Optimizer::slots_of(const Variable& variable) const {
  const auto found = std::ranges::find_if(slots_, [&](const Slots& slots) { return slots.variable == variable; });
  check(found != slots_.end(), ErrorKind::state, name(), "no slots for \"", variable.name(),
        "\" - expected a variable of an earlier build() - call build() first.");
  return *found;
}

std::vector<std::vector<Variable>> Optimizer::slots() const {
  std::vector<std::vector<Variable>> kinds;
  const auto add = [&](const auto& of) {
    kinds.emplace_back();
    for (const Slots& slots : slots_)
      if (const Variable slot = of(slots)) kinds.back().push_back(slot);
  };
  if (options_.use_ema) add([](const Slots& slots) { return slots.average; });
  if (options_.gradient_accumulation_steps) add([](const Slots& slots) { return slots.accumulator; });
  std::size_t own = 0;
  for (const Slots& slots : slots_) own = std::max(own, slots.own.size());
  for (std::size_t kind = 0; kind < own; ++kind)
    add([&](const Slots& slots) { return kind < slots.own.size() ? slots.own[kind] : Variable(); });
  return kinds;
}

std::vector<Variable> Optimizer::slots_for(const Variable& variable) const {
  std::vector<Variable> result;
  const auto found = std::ranges::find_if(slots_, [&](const Slots& slots) { return slots.variable == variable; });
  if (found == slots_.end()) return result;
  for (const Variable& shared : {found->average, found->accumulator})
    if (shared) result.push_back(shared);
  result.insert(result.end(), found->own.begin(), found->own.end());
  return result;
}

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> result{iterations_};
  if (learning_rate_) result.push_back(learning_rate_);
  for (const auto& kind : Optimizer::slots()) result.insert(result.end(), kind.begin(), kind.end());
  for (const Variable& variable : common_variables()) result.push_back(variable);
  if (loss_scale_)
    for (const Variable& variable : loss_scale_->variables()) result.push_back(variable);
  return result;
}

std::vector<Variable> Optimizer::keras_variables() const {
  std::vector<Variable> result{iterations_};
  if (learning_rate_) result.push_back(learning_rate_);
  for (const Slots& slots : slots_)
    if (slots.average) result.push_back(slots.average);
  for (const Slots& slots : slots_)
    if (slots.accumulator) result.push_back(slots.accumulator);
  for (const Slots& slots : slots_) result.insert(result.end(), slots.own.begin(), slots.own.end());
  for (const Variable& variable : common_variables()) result.push_back(variable);
  return result;
}

// ---- A step ----

Value Optimizer::traced_learning_rate() const {
  Graph& graph = Graph::current();
  const auto& schedule = options_.learning_rate.schedule();
  return schedule ? (*schedule)(ops::cast(graph.read(iterations_), floatx())) : graph.read(learning_rate_);
}

Value Optimizer::traced_iterations() const {
  const Value calls = Graph::current().read(iterations_);
  return options_.gradient_accumulation_steps ? floor_divide(calls, *options_.gradient_accumulation_steps) : calls;
}

Value Optimizer::step_number(DType dtype) const { return ops::cast(traced_iterations() + 1, dtype); }

Value Optimizer::scale_loss(Value loss) {
  if (!options_.loss_scale_factor && !loss_scale_) return loss;
  loss_is_scaled_ = true;
  loss = ops::upcast(loss);  // it may overflow in float16
  return loss_scale_ ? loss * ops::cast(loss_scale_->value(), loss.dtype()) : loss * *options_.loss_scale_factor;
}

void Optimizer::scale_loss_dynamically(double initial_scale, std::int64_t growth_steps) {
  check(!options_.loss_scale_factor, ErrorKind::value, name(),
        "loss_scale_factor = ", options_.loss_scale_factor.value_or(1),
        " and a dynamic loss scale - expected only one of them - omit loss_scale_factor.");
  loss_scale_.emplace(name(), initial_scale, growth_steps);
}

void Optimizer::apply(const std::vector<Value>& gradients, const std::vector<Variable>& variables) {
  check(gradients.size() == variables.size(), ErrorKind::value, name(), gradients.size(), " gradients for ",
        variables.size(),
        " variables - expected one for each - pass gradients(loss, variables) and the same variables.");
  check(std::ranges::any_of(gradients, [](const Value& g) { return static_cast<bool>(g); }), ErrorKind::value, name(),
        "No gradients provided for any variable - expected a loss that depends on at least one of them - check that "
        "layers are trainable and that the loss uses y_pred.");
  if (has_device_libraries)
    if (GivenGradients* const given = GivenGradients::current()) {
      for (std::size_t i = 0; i < variables.size(); ++i)
        if (gradients[i]) given->entries.push_back({this, variables[i], gradients[i]});
      return;
    }
  const auto& scale = options_.loss_scale_factor;
  // Dividing unscaled gradients would silently train at a fraction of the learning rate.
  check(!scales_loss() || std::exchange(loss_is_scaled_, false), ErrorKind::state, name(),
        scale ? "loss_scale_factor = " : "a dynamic scale, at first ",
        scale         ? *scale
        : loss_scale_ ? loss_scale_->initial_scale()
                      : 1,
        " but a loss that was not scaled - expected gradients of optimizer.scale_loss(loss) - call it in train_step.");
  build(variables);
  std::vector<Value> given;
  std::vector<Variable> updated;
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (gradients[i]) {
      given.push_back(ops::all_reduce(gradients[i]));
      updated.push_back(variables[i]);
    }
  const Value finite = loss_scale_ ? LossScale::all_finite(given) : Value{};
  for (Value& gradient : given) {
    if (scale) gradient = gradient / *scale;
    if (loss_scale_) gradient = gradient / ops::cast(loss_scale_->value(), gradient.dtype());
  }
  Graph& graph = Graph::current();
  const std::vector<Graph::Assignment> before = graph.assignments();
  step(std::move(given), updated, variables);
  if (!loss_scale_) return;
  keep_where(finite, before);
  loss_scale_->follow(finite);
}

void Optimizer::step(std::vector<Value> gradients, const std::vector<Variable>& updated,
                     const std::vector<Variable>& all) {
  if (options_.gradient_accumulation_steps)
    accumulate(gradients, updated);
  else
    update(std::move(gradients), updated);
  if (options_.use_ema) average(all);
  constrain(updated);
  count_call();
}

/// Also in calls that only accumulate gradients, as in Keras.
void Optimizer::constrain(const std::vector<Variable>& variables) {
  Graph& graph = Graph::current();
  for (const Variable& variable : variables)
    if (const auto& constraint = variable.constraint()) graph.assign(variable, (*constraint)(graph.read(variable)));
}

void Optimizer::count_call() {
  Graph& graph = Graph::current();
  graph.assign(iterations_, graph.read(iterations_) + 1);
}

/// Keeps assignments since `before` only where the condition holds.
void Optimizer::keep_where(Value condition, const std::vector<Graph::Assignment>& before) {
  Graph& graph = Graph::current();
  const std::vector<Graph::Assignment> after = graph.assignments();
  for (const auto& [variable, current] : after) {
    const auto known = std::ranges::find(before, variable, &Graph::Assignment::variable);
    const Value old = known == before.end() ? graph.append(op::Read{variable}, {}) : Value(graph, known->current);
    if (old.id() != current) graph.assign(variable, ops::where(condition, Value(graph, current), old));
  }
}

/// The update of the mean is traced with every call, and its assignments are kept only when it is due.
void Optimizer::accumulate(const std::vector<Value>& gradients, const std::vector<Variable>& variables) {
  Graph& graph = Graph::current();
  const std::int64_t steps = *options_.gradient_accumulation_steps;
  const Value due = is_multiple(graph.read(iterations_) + 1, steps);
  std::vector<Value> sums, means;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    sums.push_back(graph.read(slots_of(variables[i]).accumulator) + gradients[i]);
    means.push_back(sums.back() / static_cast<double>(steps));
  }

  const std::vector<Graph::Assignment> before = graph.assignments();
  update(means, variables);
  keep_where(due, before);
  for (std::size_t i = 0; i < variables.size(); ++i)
    graph.assign(slots_of(variables[i]).accumulator, ops::where(due, ops::scalar(0, sums[i]), sums[i]));
}

void Optimizer::update(std::vector<Value> gradients, const std::vector<Variable>& variables) {
  Graph& graph = Graph::current();
  gradients = clip_gradients(std::move(gradients));
  const Value learning_rate = traced_learning_rate();
  const auto rate_of = [&](const Variable& variable) { return ops::cast(learning_rate, variable.dtype()); };
  for (const Variable& variable : variables)
    if (const auto decay = weight_decay_of(variable); decay && decays(variable)) {
      const Value value = graph.read(variable);
      graph.assign(variable, value - value * (rate_of(variable) * *decay));
    }
  begin_step();
  for (std::size_t i = 0; i < variables.size(); ++i) update_step(gradients[i], variables[i], rate_of(variables[i]));
}

std::vector<Value> Optimizer::clip_gradients(std::vector<Value> gradients) const {
  const auto for_each_given = [&](auto&& change) {
    for (Value& gradient : gradients)
      if (gradient) change(gradient);
  };
  if (const auto& longest = options_.clipnorm)
    for_each_given(
        [&](Value& gradient) { gradient = gradient * shortening(ops::sqrt(squared_norm(gradient)), *longest); });
  if (const auto& largest = options_.clipvalue)
    for_each_given([&](Value& gradient) { gradient = ops::clip(gradient, -*largest, *largest); });
  if (const auto& longest = options_.global_clipnorm) {
    Value sum;
    for_each_given([&](Value gradient) {
      const Value square = ops::cast(squared_norm(gradient), floatx());
      sum = sum ? sum + square : square;
    });
    if (!sum) return gradients;
    const Value norm = ops::sqrt(sum);
    // norm - norm is NaN if the norm is infinite: no part of such a step is valid.
    const Value factor = shortening(norm, *longest) + (norm - norm);
    for_each_given([&](Value& gradient) { gradient = gradient * ops::cast(factor, gradient.dtype()); });
  }
  return gradients;
}

// ---- Averages ----

/// In the first step the average is the variable itself.
void Optimizer::average(const std::vector<Variable>& variables) {
  Graph& graph = Graph::current();
  const Value iterations = traced_iterations();
  const Value first = ops::equal(iterations, ops::scalar(0, iterations));
  Value overwrite;
  if (options_.ema_overwrite_frequency) overwrite = is_multiple(iterations + 1, *options_.ema_overwrite_frequency);
  for (const Variable& variable : variables) {
    const Variable& average = slots_of(variable).average;
    const Value value = graph.read(variable), kept = graph.read(average);
    const Value momentum = ops::where(first, ops::scalar(0, value), ops::scalar(options_.ema_momentum, value));
    const Value next = kept * momentum + value * (1 - momentum);
    graph.assign(average, next);
    if (overwrite) graph.assign(variable, ops::where(overwrite, next, value));
  }
}

void Optimizer::finalize_variable_values(const std::vector<Variable>& variables) {
  if (!options_.use_ema) return;
  for (Slots& slots : slots_)
    if (std::ranges::find(variables, slots.variable) != variables.end()) slots.variable.assign(slots.average.value());
}

// ---- Weight decay ----

void Optimizer::exclude_from_weight_decay(const std::vector<Variable>& variables,
                                          const std::vector<std::string>& names) {
  check(slots_.empty(), ErrorKind::state, name(),
        "exclude_from_weight_decay() after the first step - expected a call before the optimizer is built - call it as "
        "soon "
        "as the optimizer is created.");
  for (const std::string& pattern : names)
    is_found(pattern, "", "exclude_from_weight_decay");  // throws here, not in a step
  excluded_ = variables;
  excluded_names_ = names;
}

bool Optimizer::decays(const Variable& variable) const {
  return std::ranges::find(excluded_, variable) == excluded_.end() &&
         std::ranges::none_of(excluded_names_, [&](const std::string& pattern) {
           return is_found(pattern, variable.name(), "exclude_from_weight_decay");
         });
}

}  // namespace etude
