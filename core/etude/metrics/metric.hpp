#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "etude/base/choice.hpp"
#include "etude/classes/class_entry.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

namespace metrics {

/// The rows of the options of all metrics.
template <class Options> constexpr auto metric_fields() {
  return option_rows(option<&Options::name>("Name of the metric, and of its log."),
                     option<&Options::dtype>("Dtype of its variables and of its result, such as \"float32\". Default: "
                                             "floatx()."));
}

/// The options of metrics without others.
struct MetricOptions {
  /// The name; if empty, that of its class.
  std::string name = {}, dtype = {};
  /// The name; if it is empty, `other`.
  std::string name_or(const char* other) const { return name.empty() ? other : name; }
  template <class O = MetricOptions> static constexpr auto fields() { return option_rows(metric_fields<O>()); }
};

}  // namespace metrics

/// The direction in which a value improves.
enum class Direction : std::uint8_t { unknown, up, down };

/// A running value: variables that a step updates, and a result. Source: keras/src/metrics/metric.py.
class Metric : public Described {
 public:
  using Kind = Metric;
  /// Its options may have a `dtype`.
  static constexpr bool has_dtype = true;
  /// A metric of that name. Its dtype is the present floatx().
  explicit Metric(std::string name) : name_(std::move(name)), dtype_(floatx()) {}
  virtual ~Metric() = default;
  /// The name of the metric and of its log.
  const std::string& name() const { return name_; }
  /// The dtype of its variables and of its result.
  DType dtype() const { return dtype_; }

  /// Within a trace: adds a batch, or on a replica its shard; sums in variables are all-reduced to those of the whole
  /// batch. sample_weight may be empty.
  virtual void update_state(Value y_true, Value y_pred, Value sample_weight = {}) = 0;
  /// Within a trace: the current result, a scalar.
  virtual Value result() const = 0;
  /// Resets the variables to their initial values, as each epoch does.
  virtual void reset_state();
  /// Adds the state of other metrics, such as those of other parts of the data, on the host. Throws Error(value) unless
  /// their variables are as many and have the same shapes: those of the same class and options, after a batch.
  void merge_state(const std::vector<std::shared_ptr<Metric>>& others);
  /// The variables that it keeps from batch to batch.
  const std::vector<Variable>& variables() const { return variables_; }
  /// The same metric with separate variables: each of several outputs gets one. Null for a class that does not override
  /// it.
  virtual std::shared_ptr<Metric> copy() const { return nullptr; }

  /// The direction for callbacks that monitor it in mode "auto" (C-1).
  Direction direction = Direction::unknown;

 protected:
  /// Creates a variable of this metric, of its dtype, that starts as zeros. Replicas add to it.
  Variable add_variable(const std::string& name, const Shape& shape = {});
  /// The same of the values and the dtype of `initial`. reset_state() sets zeros: override it.
  Variable add_variable_of(const std::string& name, const Tensor& initial);

 private:
  std::string name_;
  DType dtype_;
  std::vector<Variable> variables_;
};
using MetricPtr = std::shared_ptr<Metric>;

/// Weighted sum of all values, 0 when there are none.
class Sum : public Metric {
 public:
  static constexpr ClassText about{"Sum", "Weighted sum of all values."};
  static std::shared_ptr<Sum> make(const metrics::MetricOptions& options);
  /// A sum of that name.
  explicit Sum(std::string name = "sum");
  /// Adds `values`, of any shape; a weight of fewer axes is repeated along the later axes.
  void update(Value values, Value weight = {});
  void update_state(Value, Value values, Value sample_weight = {}) override { update(values, sample_weight); }
  Value result() const override;
  MetricPtr copy() const override;

 private:
  Variable total_;
};

/// Weighted mean of all values: sum(value · weight) / sum(weight), 0 when there are none (R-4, M-9). A scalar with a
/// weight for each row counts as the value of each row.
class Mean : public Metric {
 public:
  static constexpr ClassText about{"Mean", "Weighted mean of all values."};
  static std::shared_ptr<Mean> make(const metrics::MetricOptions& options);
  /// A mean of that name.
  explicit Mean(std::string name = "mean");
  /// Adds `values`, of any shape; `weight` broadcasts to them.
  void update(Value values, Value weight = {});
  void update_state(Value, Value values, Value sample_weight = {}) override { update(values, sample_weight); }
  Value result() const override;
  MetricPtr copy() const override;

 private:
  Variable total_, count_;
};

/// The mean of a function of targets and predictions, which returns one value per sample, or one for the batch.
class MeanOf : public Mean {
 public:
  /// Returns the value of each sample, or of the batch.
  using Function = std::function<Value(Value y_true, Value y_pred)>;
  /// The mean of the results of `function`; `better` is its direction of improvement.
  MeanOf(Function function, std::string name, Direction better = Direction::unknown)
      : Mean(std::move(name)), function_(std::move(function)) {
    direction = better;
  }
  void update_state(Value y_true, Value y_pred, Value sample_weight = {}) override;
  MetricPtr copy() const override;

 private:
  Function function_;
};

/// The sample weights times the mask of y_pred, which excludes padded steps; the same Value without a mask, empty
/// without both.
Value masked_weight(Value y_pred, Value sample_weight);

namespace metrics {

inline constexpr Factory<Mean> mean;
inline constexpr Factory<Sum> sum;
/// A function of (y_true, y_pred) as a metric, and its direction of improvement.
MetricPtr from_function(MeanOf::Function function, std::string name, Direction direction = Direction::unknown);

/// Finds a metric by name, or returns the object. "accuracy", "acc", "crossentropy" and "ce", in any case, are resolved
/// by the shapes that they compare (M-1), and keep their names. Throws Error(value), listing all names, for an unknown
/// name.
MetricPtr get(const Choice<Metric>& choice, const Shape& y_true, const Shape& y_pred);
/// Throws like `get` for an unknown name, before any shape is known.
void check_name(const Choice<Metric>& choice);

}  // namespace metrics
}  // namespace etude
