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

/// The options of a metric that has no others.
struct MetricOptions {
  /// That of its class where it is empty.
  std::string name = {};
  static constexpr auto fields() {
    return option_rows(option<&MetricOptions::name>("Name of the metric, and of its log."));
  }
};

}  // namespace metrics

/// Which way a figure gets better.
enum class Direction : std::uint8_t { unknown, up, down };

/// A running figure: variables that a step updates, and what is read off them. Source: keras/src/metrics/metric.py.
class Metric : public Described {
 public:
  using Kind = Metric;
  /// A metric of that name.
  explicit Metric(std::string name) : name_(std::move(name)) {}
  virtual ~Metric() = default;
  /// Its name, and that of its log.
  const std::string& name() const { return name_; }

  /// Within a trace: takes a batch into account, or of a replica its share of it: what all add to a variable is added
  /// up to the whole batch's. sample_weight may be empty.
  virtual void update_state(Value y_true, Value y_pred, Value sample_weight = {}) = 0;
  /// Within a trace: the figure so far, a scalar.
  virtual Value result() const = 0;
  /// Sets the variables to what they were at first: each epoch begins so.
  virtual void reset_state();
  /// What it keeps from batch to batch.
  const std::vector<Variable>& variables() const { return variables_; }
  /// The same metric with variables of its own: of several outputs each gets one. Null for a class that does not
  /// override it.
  virtual std::shared_ptr<Metric> copy() const { return nullptr; }

  /// What callbacks ask that monitor it in mode "auto" (C-1).
  Direction direction = Direction::unknown;

 protected:
  /// Makes a variable of this metric that begins as zeros, and to which replicas add.
  Variable add_variable(const std::string& name, const Shape& shape = {});

 private:
  std::string name_;
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
  /// Adds `values`, of any shape; a weight of fewer axes holds for all that is behind its own.
  void update(Value values, Value weight = {});
  void update_state(Value, Value values, Value sample_weight = {}) override { update(values, sample_weight); }
  Value result() const override;
  MetricPtr copy() const override;

 private:
  Variable total_;
};

/// Weighted mean of all values: sum(value · weight) / sum(weight), 0 when there are none (R-4, M-9). A scalar with a
/// weight for each row is the value of each.
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

/// The mean of a function of targets and predictions, which gives one value a sample, or one for the batch.
class MeanOf : public Mean {
 public:
  /// The figure of each sample, or of the batch.
  using Function = std::function<Value(Value y_true, Value y_pred)>;
  /// A mean of what `function` gives; `better` says which way it gets better.
  MeanOf(Function function, std::string name, Direction better = Direction::unknown)
      : Mean(std::move(name)), function_(std::move(function)) {
    direction = better;
  }
  void update_state(Value y_true, Value y_pred, Value sample_weight = {}) override;
  MetricPtr copy() const override;

 private:
  Function function_;
};

namespace metrics {

inline constexpr Factory<Mean> mean;
inline constexpr Factory<Sum> sum;
/// A function of (y_true, y_pred) as a metric, and which of its values are the better ones.
MetricPtr from_function(MeanOf::Function function, std::string name, Direction direction = Direction::unknown);

/// By name or object. "accuracy", "acc", "crossentropy" and "ce", in any case, are resolved by the shapes of what they
/// compare (M-1), and keep their names.
/// Throws Error(value) listing the names there are.
MetricPtr get(const Choice<Metric>& choice, const Shape& y_true, const Shape& y_pred);
/// Throws as `get` does, if the name is not known: before any shape is.
void check_name(const Choice<Metric>& choice);

}  // namespace metrics
}  // namespace etude
