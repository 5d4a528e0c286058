#include "etude/metrics/metric.hpp"

#include <algorithm>
#include <functional>

#include "etude/base/error.hpp"
#include "etude/losses/loss.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

void Metric::reset_state() {
  for (Variable variable : variables_) variable.fill(0);
}

void Metric::merge_state(const std::vector<std::shared_ptr<Metric>>& others) {
  const auto fits = [](const Variable& to, const Variable& from) { return to.shape() == from.shape(); };
  for (const std::shared_ptr<Metric>& other : others)
    check(std::ranges::equal(variables_, other->variables_, fits), ErrorKind::value, name_, "the state of \"",
          other->name_,
          "\", which has other variables - expected a metric of the same class and options, and a batch "
          "for both - pass others to merge_state.");
  for (const std::shared_ptr<Metric>& other : others)
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      Tensor sum = variables_[i].value().astype(DType::float64);
      const Tensor more = other->variables_[i].value().astype(DType::float64);
      std::ranges::transform(sum.data<double>(), more.data<double>(), sum.data<double>().begin(), std::plus<>());
      variables_[i].assign(sum);
    }
}

Variable Metric::add_variable(const std::string& name, const Shape& shape) {
  return add_variable_of(name, Tensor(shape, dtype_));
}
Variable Metric::add_variable_of(const std::string& name, const Tensor& initial) {
  Variable& variable = variables_.emplace_back(name_ + '/' + name, initial, false, Aggregation::sum);
  variable.set_managed();
  return variable;
}

Sum::Sum(std::string name) : Metric(std::move(name)), total_(add_variable("total")) {}

void Sum::update(Value values, Value weight) {
  Graph& graph = Graph::current();
  values = ops::cast(values, total_.dtype());
  if (weight) {
    Shape shape = weight.shape();
    while (shape.rank() < values.shape().rank()) shape.append(1);
    values = values * ops::reshape(ops::cast(weight, values.dtype()), shape);
  }
  graph.assign(total_, graph.read(total_) + ops::sum(values));
}

MetricPtr Sum::copy() const { return std::make_shared<Sum>(name()); }

Value Sum::result() const { return Graph::current().read(total_); }

Mean::Mean(std::string name) : Metric(std::move(name)), total_(add_variable("total")), count_(add_variable("count")) {}

// Each sample counts once, for any number of its values. Source: reduce_to_samplewise_values in Keras 3.
void Mean::update(Value values, Value weight) {
  Graph& graph = Graph::current();
  const auto mean_from = [](Value x, std::size_t first_axis) {
    std::vector<std::ptrdiff_t> axes;
    for (std::size_t axis = first_axis; axis < x.shape().rank(); ++axis)
      axes.push_back(static_cast<std::ptrdiff_t>(axis));
    return axes.empty() ? x : ops::mean(x, axes);
  };
  values = ops::cast(values, total_.dtype());
  Value count;
  // A value of the whole batch, as in Keras 2: each row has it.
  if (weight && weight.shape().rank() > 0 && values.shape().rank() == 0)
    values = ops::broadcast_to(values, weight.shape());
  if (weight) {
    values = mean_from(values, weight.shape().rank());
    weight = ops::broadcast_to(ops::cast(weight, values.dtype()), values.shape());
    values = mean_from(values * weight, 1);
    count = ops::sum(mean_from(weight, 1));
  } else {
    values = mean_from(values, 1);
    count = ops::scalar(static_cast<double>(values.shape().size()), values);
  }
  graph.assign(total_, graph.read(total_) + ops::sum(values));
  graph.assign(count_, graph.read(count_) + count);
}

MetricPtr Mean::copy() const { return std::make_shared<Mean>(name()); }

Value Mean::result() const {
  Graph& graph = Graph::current();
  return ops::divide_no_nan(graph.read(total_), graph.read(count_));
}

namespace {

/// The product; the operand with fewer axes is repeated along the later axes.
Value times_leading(Value a, Value b) {
  const auto widened = [](Value x, std::size_t rank) {
    Shape shape = x.shape();
    while (shape.rank() < rank) shape.append(1);
    return ops::reshape(x, shape);
  };
  const std::size_t rank = std::max(a.shape().rank(), b.shape().rank());
  return widened(a, rank) * widened(b, rank);
}

}  // namespace

Value masked_weight(Value y_pred, Value sample_weight) {
  const Value mask = y_pred.mask();
  if (!mask) return sample_weight;
  const DType dtype = sample_weight ? sample_weight.dtype() : floatx();
  return sample_weight ? times_leading(sample_weight, ops::cast(mask, dtype)) : ops::cast(mask, dtype);
}

MetricPtr MeanOf::copy() const { return std::make_shared<MeanOf>(function_, name()); }

void MeanOf::update_state(Value y_true, Value y_pred, Value sample_weight) {
  y_pred = ops::upcast(y_pred);
  const Value values = function_(match_rank(y_true, y_pred), y_pred);
  if (sample_weight && sample_weight.shape().rank() == values.shape().rank() + 1 && sample_weight.shape()[-1] == 1)
    sample_weight = ops::squeeze(sample_weight, -1);
  // The function's own mask only removes weights, as in Keras 3.
  for (Value mask : {y_pred.mask(), sample_weight ? values.mask() : Value{}}) {
    if (!mask || mask.shape().rank() > values.shape().rank()) continue;
    mask = ops::cast(mask, values.dtype());
    sample_weight = sample_weight ? times_leading(ops::cast(sample_weight, mask.dtype()), mask) : mask;
  }
  update(values, sample_weight);
}

std::shared_ptr<Mean> Mean::make(const metrics::MetricOptions& options) {
  return std::make_shared<Mean>(options.name_or("mean"));
}
std::shared_ptr<Sum> Sum::make(const metrics::MetricOptions& options) {
  return std::make_shared<Sum>(options.name_or("sum"));
}

namespace metrics {

MetricPtr from_function(MeanOf::Function function, std::string name, Direction direction) {
  return std::make_shared<MeanOf>(std::move(function), std::move(name), direction);
}

}  // namespace metrics
}  // namespace etude
