#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "etude/callbacks/output.hpp"
#include "etude/metrics/metric.hpp"
#include "etude/training/callback.hpp"

namespace etude {

/// A callback that looks at one of the epoch's figures and knows which way it gets better. Source:
/// keras/src/callbacks/monitor_callback.py.
class MonitorCallback : public Callback {
 public:
  /// The name of the log that it looks at.
  const std::string& monitor() const { return monitor_; }
  /// The best value so far; none before the first.
  const std::optional<double>& best() const { return best_; }

 protected:
  /// `mode` is "auto", "min" or "max"; another is warned of, and taken for "auto" (C-1).
  MonitorCallback(std::string class_name, std::string monitor, const std::string& mode, double min_delta,
                  TextSink warn);

  /// Forgets the best value, and which way "auto" went: the next fit may be another model's.
  void restart();
  /// Sets the best value.
  void set_best(double value) { best_ = value; }
  void set_best(const std::optional<double>& value) { best_ = value; }

  /// Which way is better. In mode "auto" that is what the model's metric of that name says, else the name itself if it
  /// is that of a loss or of one of Keras's metrics: "f1_score", "a_loss". Throws Error(value), naming what is in the
  /// logs, where neither tells (C-1).
  Direction direction(const Logs& logs);
  /// The monitored value; none, and a warning that begins with `purpose`, if it is not in the logs.
  std::optional<double> monitored(const Logs& logs, const std::string& purpose) const;
  /// Whether `value` beats `reference` by more than min_delta (C-2). It beats none. Only after direction().
  bool is_improvement(double value, std::optional<double> reference) const;

  /// Where warnings go.
  const TextSink& warn() const { return warn_; }

 private:
  std::string class_name_, monitor_;
  double min_delta_;
  TextSink warn_;
  Direction given_, direction_;
  std::optional<double> best_;
};

}  // namespace etude
