#include "etude/callbacks/monitor_callback.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/error.hpp"
#include "etude/training/model.hpp"

namespace etude {
namespace {

Direction direction_of(std::string_view mode) {
  return mode == "min" ? Direction::down : mode == "max" ? Direction::up : Direction::unknown;
}

/// Whether a name, or its part after an underscore, is among `words`, each of which is enclosed in spaces.
bool ends_with_one_of(std::string_view words, const std::string& name) {
  for (std::size_t at = 0;; ++at) {
    if (words.find(' ' + name.substr(at) + ' ') != words.npos) return true;
    at = name.find('_', at);
    if (at == name.npos) return false;
  }
}

/// The direction of a name without a metric object: of a function, of add_metric, or of a custom step's logs. The names
/// are those of Keras's metric classes with their _direction (3.15), and Keras 2.12's "acc" and "fmeasure". A number
/// may follow them, and the name of an output may precede them.
Direction direction_of_name(std::string name) {
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const std::size_t last = name.find_last_not_of("0123456789");
  if (last != name.npos && name[last] == '_') name.resize(last);
  if (ends_with_one_of(" loss error crossentropy hinge divergence poisson mse rmse mae mape msle bce kld logcosh"
                       " log_cosh ",
                       name))
    return Direction::down;
  const bool up = ends_with_one_of(
      " accuracy precision recall precision_at_recall recall_at_precision sensitivity_at_specificity"
      " specificity_at_sensitivity f1 f1_score f1score fbeta_score fbetascore r2 r2_score r2score iou meaniou io_u"
      " cosine_similarity correlation ",
      name);
  return up || name.ends_with("acc") || name.ends_with("accuracy") || name.ends_with("auc") ||
                 name.starts_with("fmeasure")
             ? Direction::up
             : Direction::unknown;
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
  // A name of no log and no metric is a mistake.
  const bool there = logs.contains(monitor_) || logs.contains(name) || std::ranges::find(names, name) != names.end();
  if (direction_ == Direction::unknown && there) direction_ = direction_of_name(std::string(name));
  check(direction_ != Direction::unknown, ErrorKind::value, class_name_, "monitor = \"", monitor_,
        "\" has an unknown direction - expected one of: ", names_in(logs, ", "),
        " - name a log with a known direction, or set mode to \"max\" or \"min\".");
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
