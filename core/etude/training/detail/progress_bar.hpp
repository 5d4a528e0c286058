#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/logs.hpp"

namespace etude {

struct ProgressBarOptions {
  int width = 20;
  /// 0: silent, 1: a bar, 2: one line at the end.
  int verbose = 1;
  /// The shortest time between two updates of the display, in seconds.
  double interval = 0.05;
  std::string unit_name = "step";
  /// Bold, green and white by escape sequences.
  bool colour = true;
  /// Redraws in place by backspaces. Off (a file, a pipe): only the finished line is written.
  bool dynamic = true;
  /// The values that are averaged over the updates, weighted by steps. Others are shown unchanged, since the logs of
  /// fit are epoch means already. With `stateful_metrics`: all except those are averaged.
  std::optional<std::vector<std::string>> stateful_metrics{};
  std::vector<std::string> stateless_metrics{};
  /// The receiver of the text; stdout if empty.
  std::function<void(std::string_view)> sink{};
  /// Seconds since any fixed moment; a monotonic clock if empty.
  std::function<double()> clock{};
};

/// Keras 3's line, `469/469 ━━━━━━━━━━━━━━━━━━━━ 2s 4ms/step - loss: 0.2554`. During an epoch it shows the ETA in place
/// of the elapsed time. Logs are epoch means already, so they are shown unchanged, in the order of their first
/// occurrence, unless the options say otherwise. Logs are read only for display or averages. Updates reuse buffers.
/// Source: keras/src/utils/progbar.py.
class ProgressBar {
 public:
  /// `target`: the expected steps, if known. Time is measured from here.
  explicit ProgressBar(std::optional<std::int64_t> target, ProgressBarOptions options = {});

  /// Reports that `current` steps are done, and redraws the line after the interval. Call it after every execution,
  /// since the time per step excludes the first.
  void update(std::int64_t current, const Logs& logs);
  /// Draws the final line, with the steps done so far, and ends it. The number of steps becomes an unknown target.
  /// (Keras shows the target as reached even if training stopped before it.)
  void finish(const Logs& logs);
  /// Begins another epoch with `target` steps.
  void reset(std::optional<std::int64_t> target);

  /// Whether an update at `now` (of the clock) would draw.
  bool should_redraw(double now) const;
  std::optional<std::int64_t> target() const { return target_; }
  std::int64_t current() const { return current_; }

 private:
  double seconds_per_step(double now) const;
  bool averages(std::string_view name) const;
  /// Stores the values: all, or only those that are averaged.
  void keep(const Logs& logs, bool all);
  void draw(double now, bool last);
  void add_bar(double now, bool last);
  void add_count();
  void add_eta(double seconds);
  void add_step_time(double seconds);
  void add_values();
  void add(std::string_view text);
  void add_number(const char* format, double number);
  void escape(std::string_view code);

  ProgressBarOptions options_;
  std::optional<std::int64_t> target_;
  std::int64_t current_ = 0;
  double start_ = 0;
  std::optional<double> first_step_done_, last_drawn_;
  struct Shown {
    std::string name;
    bool averaged;
    double value = 0, total = 0, steps = 0;
  };
  std::vector<Shown> values_;
  std::int64_t seen_ = 0;
  std::string line_;
  /// The columns of `line_` on the screen, and those of the previous line.
  std::size_t columns_ = 0, previous_columns_ = 0;
};

/// Whether stdout is a terminal: the usual value of `colour` and `dynamic`.
bool stdout_is_terminal();

}  // namespace etude
