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
  /// Least time between two drawings, in seconds.
  double interval = 0.05;
  std::string unit_name = "step";
  /// Bold, green and white by escape sequences.
  bool colour = true;
  /// Redraws in place by backspaces. Off (a file, a pipe): only the finished line is written.
  bool dynamic = true;
  /// Which values are averaged over the updates, weighted by steps; all others are shown as they are, as what fit logs
  /// are epoch means already. With `stateful_metrics`: all but those.
  std::optional<std::vector<std::string>> stateful_metrics{};
  std::vector<std::string> stateless_metrics{};
  /// Where the text goes; stdout if empty.
  std::function<void(std::string_view)> sink{};
  /// Seconds since any fixed moment; a monotonic clock if empty.
  std::function<double()> clock{};
};

/// Keras 3's line, `469/469 ━━━━━━━━━━━━━━━━━━━━ 2s 4ms/step - loss: 0.2554`. While it runs the ETA stands in place of
/// the elapsed time. Logs are epoch means already, so they are shown as they are, in the order they first came,
/// unless the options say otherwise. Logs are read only when something is drawn or averaged; drawing reuses its
/// buffers. Source: keras/src/utils/progbar.py.
class ProgressBar {
 public:
  /// `target`: steps expected, if known. Time runs from here.
  explicit ProgressBar(std::optional<std::int64_t> target, ProgressBarOptions options = {});

  /// Tells that `current` steps are done, and draws if it is time to. To be called after every execution, since the
  /// time per step leaves out the first.
  void update(std::int64_t current, const Logs& logs);
  /// Draws the last line, at the steps done so far, and ends it. An unknown target is known from here on.
  /// (Keras shows the target as reached even when training stopped before it.)
  void finish(const Logs& logs);
  /// Begins another epoch of `target` steps.
  void reset(std::optional<std::int64_t> target);

  /// Whether an update at `now` (of the clock) would draw.
  bool should_redraw(double now) const;
  std::optional<std::int64_t> target() const { return target_; }
  std::int64_t current() const { return current_; }

 private:
  double seconds_per_step(double now) const;
  bool averages(std::string_view name) const;
  /// Takes the values in: all, or only those that have to be averaged.
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
  /// Columns that `line_` takes on the screen, and that the line before took.
  std::size_t columns_ = 0, previous_columns_ = 0;
};

/// Whether stdout is a terminal: what `colour` and `dynamic` are usually set to.
bool stdout_is_terminal();

}  // namespace etude
