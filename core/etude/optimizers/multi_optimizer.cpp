#include "etude/optimizers/multi_optimizer.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/error.hpp"

namespace etude::optimizers {
namespace {

class SeveralOptimizers : public Optimizer {
 public:
  /// `options` has objects only.
  explicit SeveralOptimizers(const MultiOptimizerOptions& options)
      : Optimizer({.loss_scale_factor = options.loss_scale_factor, .name = options.name}) {
    add("", options.default_optimizer.object());
    for (const auto& [pattern, optimizer] : options.optimizer_map) add(pattern, optimizer.object());
  }

  void build(const std::vector<Variable>& variables) override {
    for (const auto& [optimizer, own] : divided(variables)) optimizer->build(own);
  }
  std::vector<Variable> sort_slots(const std::vector<Variable>& variables) override {
    std::vector<Variable> others;
    for (const auto& [optimizer, own] : divided(variables))
      for (const Variable& slot : optimizer->sort_slots(own)) others.push_back(slot);
    return others;
  }
  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    of(variable).update_step(gradient, variable, learning_rate);
  }
  void finalize_variable_values(const std::vector<Variable>& variables) override {
    for (const auto& [optimizer, own] : divided(variables)) optimizer->finalize_variable_values(own);
  }
  bool use_ema() const override {
    return std::ranges::any_of(optimizers_, [](const Optimizer* each) { return each->use_ema(); });
  }

  /// Each once, the default one last.
  std::vector<Optimizer*> inner_optimizers() const {
    std::vector<Optimizer*> inner;
    const auto append = [&inner](const OptimizerPtr& optimizer) {
      if (std::ranges::find(inner, optimizer.get()) == inner.end()) inner.push_back(optimizer.get());
    };
    for (std::size_t i = 1; i < by_pattern_.size(); ++i) append(by_pattern_[i].second);
    append(by_pattern_[0].second);
    return inner;
  }

  bool has_learning_rate() const override { return false; }
  double learning_rate() const override { fail_for_rate(); }
  void set_learning_rate(double) override { fail_for_rate(); }

  std::vector<Variable> variables() const override {
    std::vector<Variable> all = Optimizer::variables();
    for (const Optimizer* each : optimizers_)
      for (const Variable& variable : each->variables()) all.push_back(variable);
    return all;
  }
  std::vector<std::vector<Variable>> slots() const override {
    std::vector<std::vector<Variable>> all;
    for (const Optimizer* each : optimizers_)
      for (const std::vector<Variable>& kind : each->slots()) all.push_back(kind);
    return all;
  }

 protected:
  void step(std::vector<Value> gradients, const std::vector<Variable>& updated,
            const std::vector<Variable>& all) override {
    const auto among_all = divided(all);
    for (const auto& [optimizer, own] : divided(updated)) {
      std::vector<Value> given;
      for (std::size_t i = 0; i < updated.size(); ++i)
        if (&of(updated[i]) == optimizer) given.push_back(gradients[i]);
      const auto found = std::ranges::find(among_all, optimizer, &Part::first);
      step_of(*optimizer, std::move(given), own, found->second);
    }
    count_call();
  }

 private:
  using Part = std::pair<Optimizer*, std::vector<Variable>>;

  void add(const std::string& pattern, const OptimizerPtr& optimizer) {
    check(!dynamic_cast<const SeveralOptimizers*>(optimizer.get()) && !optimizer->loss_scale(), ErrorKind::value,
          name(), "a MultiOptimizer or LossScaleOptimizer, \"", optimizer->name(),
          "\", inside - expected optimizers that update variables - pass those; a LossScaleOptimizer may contain this "
          "one.");
    is_found(pattern, "", "optimizer_map");  // throws here, not in a step
    by_pattern_.emplace_back(pattern, optimizer);
    if (std::ranges::find(optimizers_, optimizer.get()) == optimizers_.end()) optimizers_.push_back(optimizer.get());
  }

  /// The optimizer of a variable; the first one is the default.
  Optimizer& of(const Variable& variable) const {
    const std::string& of_variable = variable.name();
    for (std::size_t i = 1; i < by_pattern_.size(); ++i)
      if (by_pattern_[i].first == of_variable) return *by_pattern_[i].second;
    std::size_t found = 0;
    for (std::size_t i = 1; i < by_pattern_.size(); ++i) {
      if (!is_found("^(?:" + by_pattern_[i].first + ")$", of_variable, "optimizer_map")) continue;
      check(found == 0, ErrorKind::value, name(), "optimizer_map: both \"", by_pattern_[found].first, "\" and \"",
            by_pattern_[i].first, "\" match \"", of_variable,
            "\" - expected at most one match - use other regular expressions.");
      found = i;
    }
    return *by_pattern_[found].second;
  }

  /// The variables of each optimizer that has some.
  std::vector<Part> divided(const std::vector<Variable>& variables) const {
    std::vector<Part> parts;
    for (Optimizer* each : optimizers_) {
      std::vector<Variable> own;
      for (const Variable& variable : variables)
        if (&of(variable) == each) own.push_back(variable);
      if (!own.empty()) parts.emplace_back(each, std::move(own));
    }
    return parts;
  }

  [[noreturn]] void fail_for_rate() const {
    fail(ErrorKind::state, name(),
         "learning_rate of several optimizers - expected one optimizer - use the learning rate of each.");
  }

  std::vector<std::pair<std::string, OptimizerPtr>> by_pattern_;
  std::vector<Optimizer*> optimizers_;  // each once
};

}  // namespace

OptimizerPtr MultiOptimizer::make(const MultiOptimizerOptions& given) {
  MultiOptimizerOptions options = given;
  check(!options.default_optimizer.empty(), ErrorKind::value, about.name,
        "no default_optimizer - expected the optimizer of variables that optimizer_map does not name - set "
        "default_optimizer.");
  // The config has the objects, whose learning rates may change.
  options.default_optimizer = get(options.default_optimizer);
  for (auto& [pattern, optimizer] : options.optimizer_map) {
    check(!optimizer.empty(), ErrorKind::value, about.name, "optimizer_map: no optimizer for \"", pattern,
          "\" - expected one - pass its name or an object.");
    optimizer = get(optimizer);
  }
  auto made = std::make_shared<SeveralOptimizers>(options);
  made->describe({class_entry<MultiOptimizer>, std::move(options)});
  return made;
}

std::vector<Optimizer*> inner_optimizers(const Optimizer& optimizer) {
  const auto* several = dynamic_cast<const SeveralOptimizers*>(&optimizer);
  return several ? several->inner_optimizers() : std::vector<Optimizer*>();
}

}  // namespace etude::optimizers
