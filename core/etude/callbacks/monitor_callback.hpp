#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "etude/callbacks/detail/output.hpp"
#include "etude/metrics/metric.hpp"
#include "etude/training/callback.hpp"

namespace etude {

/// A callback that monitors a value of the logs and its direction of improvement. Source:
/// keras/src/callbacks/monitor_callback.py.
class MonitorCallback : public Callback {
 public:
  /// The name of the monitored log.
  const std::string& monitor() const { return monitor_; }
  /// The best value so far; none before the first epoch.
  const std::optional<double>& best() const { return best_; }

 protected:
  /// `mode` is "auto", "min" or "max"; any other value gives a warning and means "auto" (C-1).
  MonitorCallback(std::string class_name, std::string monitor, const std::string& mode, double min_delta,
                  TextSink warn);

  /// Resets the best value and the direction of "auto", because the next fit may be of another model.
  void restart();
  /// Sets the best value.
  void set_best(double value) { best_ = value; }
  void set_best(const std::optional<double>& value) { best_ = value; }

  /// The direction of improvement. In mode "auto" it is that of the model's metric of that name, or that of the name
  /// itself if it belongs to a loss or one of Keras's metrics: "f1_score", "a_loss". Throws Error(value), listing the
  /// names of the logs, if neither is known (C-1).
  Direction direction(const Logs& logs);
  /// The monitored value; if it is not in the logs, none, and a warning that begins with `purpose`.
  std::optional<double> monitored(const Logs& logs, const std::string& purpose) const;
  /// Whether `value` is better than `reference` by more than min_delta (C-2); true if there is no reference. Only after
  /// direction().
  bool is_improvement(double value, std::optional<double> reference) const;

  /// The receiver of warnings.
  const TextSink& warn() const { return warn_; }

 private:
  std::string class_name_, monitor_;
  double min_delta_;
  TextSink warn_;
  Direction given_, direction_;
  std::optional<double> best_;
};

}  // namespace etude
