#include "etude/layers/layer.hpp"

#include <cctype>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"

namespace etude {
namespace {

/// Whether y still has the entries that a mask tells apart, with values of their own: [batch, steps, ..].
bool masks(const Value& mask, const Value& y) {
  const std::size_t rank = mask ? mask.shape().rank() : 0;
  return mask && rank < y.shape().rank() && y.shape().slice(0, rank) == mask.shape();
}

std::mutex names_mutex;
std::map<std::string, int, std::less<>> names_given;

}  // namespace

std::string snake_case(std::string_view name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    // A capital begins a word unless it follows another one: MyLayer2D is my_layer2d.
    if (std::isupper(c) && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1]))) result += '_';
    result += static_cast<char>(std::tolower(c));
  }
  return result;
}

std::string unique_name(std::string_view class_name) {
  const std::string name = snake_case(class_name);
  const std::lock_guard lock(names_mutex);
  const int number = names_given[name]++;
  return number ? name + '_' + std::to_string(number) : name;
}

void reset_names() {
  const std::lock_guard lock(names_mutex);
  names_given.clear();
}

Layer::Layer(std::string_view class_name, const LayerOptions& options)
    : class_name_(class_name),
      name_(options.name.empty() ? unique_name(class_name) : options.name),
      policy_(options.dtype.empty() ? etude::dtype_policy() : DTypePolicy::from_name(options.dtype, where())),
      trainable_(options.trainable) {}

std::string Layer::where() const { return class_name_ + " \"" + name_ + '"'; }

std::vector<Value> Layer::accept(const std::vector<Value>& given) {
  check(!given.empty() && given.front(), ErrorKind::value, where(),
        "called on nothing - expected an input - pass one.");
  std::vector<Value> inputs = given;
  std::vector<Shape> shapes;
  for (Value& x : inputs) {
    if (!x) continue;
    const DType dtype = keeps_input_dtype_ ? variable_dtype() : compute_dtype();
    if (is_floating(x.dtype())) x = ops::cast(x, dtype).with_mask(x.mask());
    shapes.push_back(x.shape());
  }
  if (!built_) build_for(shapes);
  built_ = true;
  return inputs;
}

Value Layer::operator()(Value x, bool training) {
  const Outputs outputs = (*this)(std::vector{x}, training);
  check(outputs.size() == 1, ErrorKind::value, where(), outputs.size(),
        " outputs where one is used - expected a layer of one output - call it on a list: layer({x}).");
  return outputs;
}

Outputs Layer::operator()(const std::vector<Value>& given, bool training) {
  const std::vector<Value> inputs = accept(given);
  Outputs outputs = call_with(inputs, training);
  check(!outputs.empty(), ErrorKind::value, where(), "no output - expected a Value - return one from call().");
  input_shape_ = inputs.front().shape();
  output_shape_ = outputs.front().shape();
  for (Value& y : outputs) {
    if (!y.mask()) y = y.with_mask(mask_of(inputs, y));
    if (activity_regularizer_) Graph::current().add_loss((*activity_regularizer_)(ops::widened(y)));
  }
  return outputs;
}

Value Layer::mask_of(const std::vector<Value>& inputs, Value y) const {
  const Value mask = inputs.front().mask();
  return masks(mask, y) ? mask : Value{};
}

Outputs Layer::call_with(const std::vector<Value>& inputs, bool training) {
  check(inputs.size() == 1, ErrorKind::value, where(), "called on ", inputs.size(),
        " inputs - expected one - pass it without a list.");
  return call(inputs.front(), training);
}

void Layer::set_trainable(bool trainable) {
  trainable_ = trainable;
  for (const LayerPtr& layer : layers()) layer->set_trainable(trainable);
}

template <class Keep> std::vector<Variable> Layer::collect(Keep keep) const {
  std::vector<Variable> result;
  const auto add = [&](const Variable& variable) {
    // A layer that is used twice has its variables once.
    for (const Variable& known : result)
      if (known == variable) return;
    result.push_back(variable);
  };
  keep(*this, add);
  for (const LayerPtr& layer : layers())
    for (const Variable& variable : layer->collect(keep)) add(variable);
  return result;
}

std::vector<Variable> Layer::weights() const {
  return collect([](const Layer& layer, auto add) {
    for (const Variable& weight : layer.weights_) add(weight);
  });
}

std::vector<Variable> Layer::variables() const {
  return collect([](const Layer& layer, auto add) {
    for (const Variable& weight : layer.weights_) add(weight);
    for (const Variable& state : layer.states_) add(state);
  });
}

std::vector<Variable> Layer::trainable_variables() const {
  return collect([](const Layer& layer, auto add) {
    for (const Variable& weight : layer.weights_)
      if (layer.trainable_ && weight.trainable()) add(weight);
  });
}

std::vector<Variable> Layer::non_trainable_variables() const {
  return collect([](const Layer& layer, auto add) {
    for (const Variable& weight : layer.weights_)
      if (!layer.trainable_ || !weight.trainable()) add(weight);
    for (const Variable& state : layer.states_) add(state);
  });
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
  const Tensor value = (*initializers::get(weight.initializer))(weight.shape, variable_dtype());
  const Variable variable =
      weights_.emplace_back(name_ + '/' + weight.name, value, weight.trainable, weight.aggregation);
  if (const RegularizerPtr regularizer = regularizers::get(weight.regularizer))
    regularized_.emplace_back(variable, regularizer);
  return variable;
}

void Layer::set_activity_regularizer(const Choice<Regularizer>& regularizer) {
  activity_regularizer_ = regularizers::get(regularizer);
}

void Layer::add_loss(Value loss) { Graph::current().add_loss(ops::replica_part(ops::sum(ops::widened(loss)))); }

std::vector<Value> Layer::regularization_losses() const {
  std::vector<Value> losses;
  std::set<const Layer*> seen;  // one that is used twice pays once
  const std::function<void(const Layer&)> visit = [&](const Layer& layer) {
    if (!seen.insert(&layer).second) return;
    for (const auto& [variable, regularizer] : layer.regularized_)
      if (layer.trainable_ && variable.trainable()) losses.push_back((*regularizer)(Graph::current().read(variable)));
    for (const LayerPtr& inner : layer.layers()) visit(*inner);
  };
  visit(*this);
  return losses;
}

Variable Layer::add_state(std::string name, const Tensor& value) {
  return states_.emplace_back(name_ + '/' + std::move(name), value, false);
}

Value Layer::value_of(const Variable& variable) const {
  return ops::cast(Graph::current().read(variable), compute_dtype());
}

}  // namespace etude
