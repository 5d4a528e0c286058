// The variables of layers: their creation, lists and values.
#include "etude/layers/layer.hpp"

#include <new>
#include <unordered_set>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/layers/shape_trace.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {
namespace {

thread_local bool unset_variables = false;

}  // namespace

std::vector<Variable> Layer::collect(Which which) const {
  const bool trained = which == Which::trained;
  std::vector<Variable> result;
  std::unordered_set<const void*> seen;  // a layer that is used twice lists its variables once
  const auto add = [&](const Variable& variable) {
    if ((!trained || variable.trainable()) && seen.insert(variable.id()).second) result.push_back(variable);
  };
  const auto add_all = [&](const Layer& layer) {
    for (const Variable& weight : layer.weights_) add(weight);
    if (which != Which::all) return;
    for (const Variable& state : layer.states_) add(state);
  };
  if (!trained || trainable_) add_all(*this);
  for (const LayerPtr& layer : inside(trained, 1)) add_all(*layer);
  return result;
}

std::vector<Variable> Layer::weights() const { return collect(Which::weights); }
std::vector<Variable> Layer::variables() const { return collect(Which::all); }
std::vector<Variable> Layer::trainable_variables() const { return collect(Which::trained); }

std::vector<Variable> Layer::non_trainable_variables() const {
  std::unordered_set<const void*> trained;
  for (const Variable& variable : trainable_variables()) trained.insert(variable.id());
  std::vector<Variable> result = variables();
  std::erase_if(result, [&](const Variable& variable) { return trained.contains(variable.id()); });
  return result;
}

std::int64_t Layer::count_params() const {
  std::int64_t count = 0;
  for (const Variable& weight : weights()) count += weight.size();
  return count;
}

std::vector<Tensor> Layer::get_weights() const {
  std::vector<Tensor> result;
  for (const Variable& weight : weights()) result.push_back(weight.value());
  return result;
}

void Layer::set_weights(const std::vector<Tensor>& values) {
  std::vector<Variable> own = weights();
  check(values.size() == own.size(), ErrorKind::value, where(), "set_weights of ", values.size(),
        " tensors - expected ", own.size(), own.empty() && !built_ ? " (the layer is not built yet)" : "",
        " - pass them in the order of get_weights().");
  for (std::size_t i = 0; i < own.size(); ++i)
    check(values[i].shape() == own[i].shape(), ErrorKind::shape, where(), "set_weights with shape ", values[i].shape(),
          " for \"", own[i].name(), "\" - expected ", own[i].shape(), " - pass them in the order of get_weights().");
  for (std::size_t i = 0; i < own.size(); ++i) own[i].assign(values[i]);
}

Variable Layer::add_weight(const Weight& weight) {
  const InitializerPtr initializer = initializers::get(weight.initializer);
  const RegularizerPtr regularizer = regularizers::get(weight.regularizer);
  const ConstraintPtr constraint = constraints::get(weight.constraint);
  const std::string name = name_ + '/' + weight.name;
  Variable variable;
  try {
    const bool trial = ShapeTrace::pass() == ShapeTrace::Pass::trial;
    if (trial || unset_variables) {
      if (!trial) initializer->skip();
      variable = Variable::unset(name, weight.shape, variable_dtype(), weight.trainable, weight.aggregation);
    } else {
      variable = Variable(name, (*initializer)(weight.shape, variable_dtype()), weight.trainable, weight.aggregation);
    }
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::state, where(), "no memory for \"", weight.name, "\" of shape ", weight.shape,
         " - expected a size that fits into memory - use smaller sizes.");
  }
  variable.set_managed();
  variable.set_constraint(constraint);
  weights_.push_back(variable);
  if (regularizer) regularized_.emplace_back(variable, regularizer);
  return variable;
}

std::vector<Value> Layer::regularization_losses() const {
  std::vector<Value> losses;
  const auto add = [&](const Layer& layer) {
    for (const auto& [variable, regularizer] : layer.regularized_)
      if (variable.trainable()) losses.push_back((*regularizer)(Graph::current().read(variable)));
  };
  if (trainable_) add(*this);
  for (const LayerPtr& layer : inside(true, 1)) add(*layer);
  return losses;
}

Variable Layer::add_state(const std::string& name, const Shape& shape, DType dtype) {
  const std::string full = name_ + '/' + name;
  const bool unset = unset_variables || ShapeTrace::pass() == ShapeTrace::Pass::trial;
  Variable& state = states_.emplace_back(unset ? Variable::unset(full, shape, dtype, false)
                                               : Variable(full, Tensor(shape, dtype), false));
  state.set_managed();
  return state;
}

UnsetVariables::UnsetVariables() : outer_(std::exchange(unset_variables, true)) {}
UnsetVariables::~UnsetVariables() { unset_variables = outer_; }

Value Layer::value_of(const Variable& variable) const {
  return ops::cast(Graph::current().read(variable), compute_dtype());
}

}  // namespace etude
