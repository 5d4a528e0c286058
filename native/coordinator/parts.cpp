#include "coordinator/parts.hpp"

#include <algorithm>

#include "etude/distribute/strategy.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude::coordinator {
namespace {

constexpr const char* where = "ps";

void check_like(const char* what, const std::string& key, const Tensor& tensor, const Variable& variable) {
  check(tensor.shape() == variable.shape(), ErrorKind::shape, where, what, " of shape ", tensor.shape(), " for ", key,
        " - expected ", variable.shape(), " - pass one like the variable.");
  check(tensor.dtype() == variable.dtype(), ErrorKind::dtype, where, what, " of dtype ", tensor.dtype(), " for ", key,
        " - expected ", variable.dtype(), " - pass one like the variable.");
}

}  // namespace

Parts::Parts(OptimizerPtr optimizer) : optimizer_(std::move(optimizer)) {
  check(!optimizer_ || !optimizer_->scales_loss(), ErrorKind::value, where,
        "an optimizer that scales the loss - expected one without, since workers compute the loss - leave "
        "loss_scale_factor out.");
}

void Parts::create(const std::vector<Part>& parts, const std::vector<Tensor>& values) {
  check(parts.size() == values.size(), ErrorKind::value, where, values.size(), " values for ", parts.size(),
        " parts - expected one for each - pass all.");
  for (const Part& part : parts)
    check(!variables_.contains(part.key()), ErrorKind::value, where, "another variable ", part.name,
          " - expected different names - choose another one.");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts_.push_back(parts[i]);
    variables_.emplace(parts[i].key(), Variable(parts[i].name, values[i], parts[i].trainable));
  }
}

const Variable& Parts::variable(const std::string& key) const {
  const auto found = variables_.find(key);
  check(found != variables_.end(), ErrorKind::value, where, "no part ", key,
        " - expected one that was created - create the variable.");
  return found->second;
}

std::vector<Tensor> Parts::pull(const std::vector<std::string>& keys) const {
  std::vector<Tensor> values;
  for (const std::string& key : keys) values.push_back(variable(key).value());
  return values;
}

void Parts::assign(const Named& values) {
  for (const auto& [key, value] : values) check_like("a value", key, value, variable(key));
  for (const auto& [key, value] : values) {
    Variable of = variable(key);
    of.assign(value);
  }
}

void Parts::build() {
  std::vector<Variable> all;
  for (const Part& part : parts_)
    if (part.trainable) all.push_back(variable(part.key()));
  optimizer_->build(all);
}

std::unique_ptr<Plan> Parts::make_plan(const Named& gradients) {
  std::vector<Variable> updated;
  for (const auto& [key, gradient] : gradients) updated.push_back(variable(key));
  build();
  Graph graph;
  {
    const Trace trace(graph);
    std::vector<Value> inputs;
    for (const auto& [key, gradient] : gradients) inputs.push_back(graph.input(gradient.shape(), gradient.dtype()));
    optimizer_->apply(inputs, updated);
  }
  std::vector<Variable> used;
  for (const Node& node : graph.nodes())
    if (const auto* of = std::get_if<op::Read>(&node.op)) used.push_back(of->variable);
  const StrategyPtr strategy = get_strategy();
  strategy->place(used);
  return std::make_unique<Plan>(graph, std::span<const Value>(), std::span<const Value>(),
                                std::make_shared<Arena>(strategy->device()));
}

void Parts::push(const Named& gradients) {
  check(optimizer_ != nullptr, ErrorKind::state, where,
        "gradients without an optimizer - expected one in the program - set ServerProgram::optimizer.");
  std::vector<std::string> keys;
  std::vector<const std::byte*> inputs;
  for (const auto& [key, gradient] : gradients) {
    check_like("a gradient", key, gradient, variable(key));
    keys.push_back(key);
    inputs.push_back(gradient.raw());
  }
  std::unique_ptr<Plan>& plan = plans_[keys];
  if (!plan) plan = make_plan(gradients);
  plan->run(inputs);
}

std::vector<std::pair<std::string, Variable>> Parts::named_slots() {
  std::vector<std::pair<std::string, Variable>> result;
  if (!optimizer_) return result;
  build();
  const auto add = [&](const std::string& prefix, const std::vector<Variable>& slots) {
    for (std::size_t i = 0; i < slots.size(); ++i) result.emplace_back(prefix + std::to_string(i), slots[i]);
  };
  add("", shared_variables(*optimizer_));
  for (const Part& part : parts_) add(part.key() + '/', optimizer_->slots_for(variable(part.key())));
  return result;
}

Named Parts::slots() {
  Named values;
  for (const auto& [name, slot] : named_slots()) values.emplace_back(name, slot.value());
  return values;
}

void Parts::restore_slots(const Named& values) {
  check(values.empty() || optimizer_, ErrorKind::value, where,
        "a state with an optimizer - expected none, as the program has none - restore with the same program.");
  // A variable that is trained now may have been created without slots.
  for (Part& part : parts_)
    part.trainable |=
        std::ranges::any_of(values, [key = part.key() + '/'](const auto& each) { return each.first.starts_with(key); });
  const auto slots = named_slots();
  std::vector<Variable> found;
  for (const auto& [name, value] : values) {
    const auto slot = std::ranges::find(slots, name, [](const auto& each) { return each.first; });
    check(slot != slots.end(), ErrorKind::value, where, "a slot ", name,
          " - expected one of the optimizer - restore with the same program and variables.");
    check_like("a slot", name, value, slot->second);
    found.push_back(slot->second);
  }
  for (std::size_t i = 0; i < values.size(); ++i) found[i].assign(values[i].second);
}

std::vector<Variable> shared_variables(const Optimizer& optimizer) {
  std::vector<Variable> result = optimizer.variables();
  for (const auto& kind : optimizer.slots())
    std::erase_if(result, [&](const Variable& each) { return std::ranges::find(kind, each) != kind.end(); });
  return result;
}

}  // namespace etude::coordinator
