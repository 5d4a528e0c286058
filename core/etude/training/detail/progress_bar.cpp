#include "etude/training/detail/progress_bar.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "etude/base/detail/clock.hpp"
#include "etude/base/detail/number.hpp"
#include "etude/base/error.hpp"
#include "etude/base/messages.hpp"

namespace etude {
namespace {

constexpr std::string_view bold = "\x1b[1m", green = "\x1b[32m", white = "\x1b[37m", plain = "\x1b[0m";

/// The characters of UTF-8 text: all bytes except continuation bytes.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

int digits_of(std::int64_t number) {
  int digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

}  // namespace

ProgressBar::ProgressBar(std::optional<std::int64_t> target, ProgressBarOptions options)
    : options_(std::move(options)) {
  check(options_.width > 0, ErrorKind::value, "ProgressBar", "width ", options_.width,
        " - expected 1 or more - pass a positive number.");
  check(options_.verbose >= 0 && options_.verbose <= 2, ErrorKind::value, "ProgressBar", "verbose ", options_.verbose,
        " - expected 0 (silent), 1 (a bar) or 2 (one line per epoch) - pass one of these.");
  if (!options_.clock) options_.clock = monotonic_seconds;
  reset(target);
}

void ProgressBar::reset(std::optional<std::int64_t> target) {
  target_ = target;
  current_ = seen_ = 0;
  start_ = options_.clock();
  first_step_done_ = last_drawn_ = std::nullopt;
  values_.clear();
  previous_columns_ = 0;
}

void ProgressBar::update(std::int64_t current, const Logs& logs) {
  current_ = current;
  if (options_.verbose == 0) return;
  const double now = options_.clock();
  if (current == 1) first_step_done_ = now;
  const bool draws = should_redraw(now);
  if (draws || options_.stateful_metrics || !options_.stateless_metrics.empty()) keep(logs, draws);
  if (!draws) return;
  draw(now, false);
  last_drawn_ = now;
}

void ProgressBar::finish(const Logs& logs) {
  if (!target_) target_ = current_;
  if (options_.verbose == 0) return;
  keep(logs, true);
  draw(options_.clock(), true);
}

bool ProgressBar::should_redraw(double now) const {
  return options_.verbose == 1 && options_.dynamic && !(last_drawn_ && now - *last_drawn_ < options_.interval);
}

double ProgressBar::seconds_per_step(double now) const {
  if (current_ == 0) return 0;
  // The first step traces and warms up, so its time is not counted.
  if (first_step_done_ && current_ > 1) return (now - *first_step_done_) / static_cast<double>(current_ - 1);
  return (now - start_) / static_cast<double>(current_);
}

bool ProgressBar::averages(std::string_view name) const {
  const auto lists = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  return lists(options_.stateless_metrics) || (options_.stateful_metrics && !lists(*options_.stateful_metrics));
}

void ProgressBar::keep(const Logs& logs, bool all) {
  const auto steps = static_cast<double>(std::max<std::int64_t>(current_ - seen_, 1));
  seen_ = current_;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    auto shown = std::ranges::find(values_, logs.name(i), &Shown::name);
    if (shown == values_.end()) shown = values_.insert(shown, Shown{logs.name(i), averages(logs.name(i))});
    if (shown->averaged) {
      shown->total += steps * logs.value(i);
      shown->steps += steps;
      shown->value = shown->total / shown->steps;
    } else if (all) {
      shown->value = logs.value(i);
    }
  }
}

void ProgressBar::draw(double now, bool last) {
  line_.clear();
  columns_ = 0;
  if (options_.verbose == 2) {
    add_count();
    add_number(" - %.0fs -", now - start_);
    add_step_time(seconds_per_step(now));
    add_values();
  } else {
    add_bar(now, last);
    add_step_time(seconds_per_step(now));
    add_values();
    // Erases the end of a longer previous line.
    if (options_.dynamic && previous_columns_ > columns_) line_.append(previous_columns_ - columns_, ' ');
    previous_columns_ = columns_;
  }
  if (last) line_ += '\n';
  print_text(options_.sink, line_);
}

void ProgressBar::add_bar(double now, bool last) {
  if (options_.dynamic) {
    line_.append(previous_columns_, '\b');
    line_ += '\r';
  }
  if (target_) {
    escape(bold);
    add_count();
    escape(plain);
    add(" ");
    const double share = *target_ > 0 ? static_cast<double>(current_) / static_cast<double>(*target_) : 1.0;
    const int done = std::clamp(static_cast<int>(options_.width * share), 0, options_.width);
    if (done > 0) escape(green);
    for (int i = 0; i < done; ++i) add("━");
    if (done > 0) escape(plain);
    escape(white);
    for (int i = done; i < options_.width; ++i) add("━");
    escape(plain);
  } else {
    add_number("%7.0f/Unknown", static_cast<double>(current_));
  }
  add(" ");
  escape(bold);
  if (target_ && !last) {
    add_eta(seconds_per_step(now) * static_cast<double>(*target_ - current_));
  } else {
    add_number("%.0fs", now - start_);
  }
  escape(plain);
}

void ProgressBar::add_count() {
  char text[64];
  std::snprintf(text, sizeof text, "%*lld/%lld", digits_of(*target_), static_cast<long long>(current_),
                static_cast<long long>(*target_));
  add(text);
}

void ProgressBar::add_eta(double seconds) {
  char text[64];
  const auto whole = static_cast<long long>(seconds);
  if (seconds > 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole % 3600 / 60, whole % 60);
  } else if (seconds > 60) {
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%llds", whole);
  }
  add(text);
}

void ProgressBar::add_step_time(double seconds) {
  if (seconds >= 1 || seconds == 0) {
    add_number(" %.0fs/", seconds);
  } else if (seconds >= 1e-3) {
    add_number(" %.0fms/", seconds * 1e3);
  } else {
    add_number(" %.0fus/", seconds * 1e6);
  }
  add(options_.unit_name);
}

void ProgressBar::add_values() {
  for (const Shown& shown : values_) {
    const double value = shown.value;
    add(" - ");
    add(shown.name);
    add(": ");
    // As in Keras: with verbose 2 the sign counts, so negative values are printed as %.4e.
    const double tested = options_.verbose == 2 ? value : std::abs(value);
    add_number(tested > 1e-3 ? "%.4f" : "%.4e", value);
  }
}

void ProgressBar::add(std::string_view text) {
  line_ += text;
  columns_ += columns_of(text);
}

void ProgressBar::add_number(const char* format, double number) { add(formatted(format, number)); }

void ProgressBar::escape(std::string_view code) {
  if (options_.colour) line_ += code;
}

bool stdout_is_terminal() {
#if defined(__unix__) || defined(__APPLE__)
  return isatty(1) != 0;
#else
  return false;
#endif
}

}  // namespace etude
