#include "etude/callbacks/monitor_callback.hpp"

#include <cmath>

#include "etude/base/error.hpp"
#include "etude/training/model.hpp"

namespace etude {
namespace {

Direction direction_of(std::string_view mode) {
  return mode == "min" ? Direction::down : mode == "max" ? Direction::up : Direction::unknown;
}

std::string names_in(const Logs& logs, const char* between) {
  std::string names;
  for (std::size_t i = 0; i < logs.size(); ++i) names += (i ? between : "") + logs.name(i);
  return names;
}

}  // namespace

MonitorCallback::MonitorCallback(std::string class_name, std::string monitor, const std::string& mode, double min_delta,
                                 TextSink warn)
    : class_name_(std::move(class_name)),
      monitor_(std::move(monitor)),
      min_delta_(std::abs(min_delta)),
      warn_(std::move(warn)),
      given_(direction_of(mode)),
      direction_(given_) {
  if (given_ == Direction::unknown && mode != "auto")
    print_warning(warn_, class_name_ + " mode '" + mode + "' is unknown, fallback to auto mode.");
}

void MonitorCallback::restart() {
  direction_ = given_;
  best_.reset();
}

Direction MonitorCallback::direction(const Logs& logs) {
  if (direction_ != Direction::unknown) return direction_;
  const std::string_view name = std::string_view(monitor_).substr(monitor_.starts_with("val_") ? 4 : 0);
  if (name == "loss") direction_ = Direction::down;
  const std::vector<std::string> names = model().metrics_names();
  const std::vector<MetricPtr> metrics = model().metrics();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name && metrics[i]->direction != Direction::unknown) direction_ = metrics[i]->direction;
  check(direction_ != Direction::unknown, ErrorKind::value, class_name_, "monitor = \"", monitor_,
        "\", of which it is not known whether more or less is better - expected one of: ", names_in(logs, ", "),
        " - name one whose direction is known, or set mode to \"max\" or \"min\".");
  return direction_;
}

std::optional<double> MonitorCallback::monitored(const Logs& logs, const std::string& purpose) const {
  if (logs.contains(monitor_)) return logs[monitor_];
  print_warning(warn_,
                purpose + " `" + monitor_ + "` which is not available. Available metrics are: " + names_in(logs, ","));
  return std::nullopt;
}

bool MonitorCallback::is_improvement(double value, std::optional<double> reference) const {
  if (!reference) return true;
  return direction_ == Direction::up ? value - min_delta_ > *reference : value + min_delta_ < *reference;
}

}  // namespace etude
