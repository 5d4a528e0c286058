#include "etude/callbacks/model_checkpoint.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "etude/base/detail/number.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/vfs.hpp"
#include "etude/saving/detail/save_model.hpp"
#include "etude/training/model.hpp"

namespace etude {
namespace {

constexpr const char* where = "ModelCheckpoint";

/// The longest name of a file in most systems.
constexpr int longest_name = 255;

/// A number of the filepath. Epochs and batches are integers in Python, logs are not.
struct Number {
  double value;
  bool is_integer = false;
};

/// A number in `precision` digits as Python's format() writes it without a type: like %g, but with a digit after the
/// point of each number without an exponent.
std::string in_digits(double value, int precision) {
  if (!std::isfinite(value)) return shortest(value);
  const int digits = std::max(precision, 1);
  std::string text = formatted(("%." + std::to_string(digits - 1) + 'e').c_str(), value);
  const std::size_t end = text.find('e');
  const int exponent = std::atoi(text.c_str() + end + 1);
  if (exponent >= -4 && exponent < digits - 1) {
    text = formatted(("%." + std::to_string(digits) + 'g').c_str(), value);
    return text.find('.') == text.npos ? text + ".0" : text;
  }
  std::size_t kept = end;
  if (text.find('.') != text.npos) {
    while (text[kept - 1] == '0') --kept;
    if (text[kept - 1] == '.') --kept;
  }
  return text.erase(kept, end - kept);
}

/// With spaces in front, or zeros after the sign.
std::string padded(std::string text, int width, bool with_zeros) {
  const auto size = static_cast<std::size_t>(width);
  if (text.size() < size) text.insert(with_zeros && text[0] == '-' ? 1 : 0, size - text.size(), with_zeros ? '0' : ' ');
  return text;
}

/// Formats a number like Python's format(): [0][width][.precision][d, e, f, g].
std::string filled_in(Number number, const std::string& spec) {
  std::size_t at = 0;
  const auto digits = [&] {
    int result = 0;
    for (; at < spec.size() && std::isdigit(static_cast<unsigned char>(spec[at])) && result <= longest_name; ++at)
      result = 10 * result + (spec[at] - '0');
    check(result <= longest_name, ErrorKind::value, where, "format \"", spec,
          "\" in the filepath - expected a width and a precision of at most ", longest_name,
          ", the longest name of a file - check the filepath.");
    return result;
  };
  const int width = digits();
  const bool has_point = at < spec.size() && spec[at] == '.';
  int precision = 0;
  if (has_point) ++at, precision = digits();
  const char type = at < spec.size() ? spec[at] : number.is_integer ? 'd' : '\0';
  const bool known =
      at >= spec.size() || (at + 1 == spec.size() && std::string_view("defg").find(type) != std::string_view::npos);
  check(known && at < 8 && !(has_point && type == 'd'), ErrorKind::value, where, "format \"", spec,
        "\" in the filepath - expected one such as 02d, .2f or .3e - check the filepath.");
  if (type == '\0')
    return padded(has_point ? in_digits(number.value, precision) : shortest(number.value), width,
                  spec.starts_with('0'));
  if (type == 'd') return formatted(('%' + spec.substr(0, at) + ".0f").c_str(), std::trunc(number.value));
  return formatted(('%' + spec.substr(0, at) + type).c_str(), number.value);
}

/// Replaces {name} and {name:format} in the path by the values of the names.
std::string filled_in(const std::string& path, const std::function<Number(const std::string&)>& value_of) {
  std::string result;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t open = path.find('{', at), close = path.find('}', open);
    result += path.substr(at, open - at);
    if (open == path.npos) break;
    check(close != path.npos, ErrorKind::value, where, '"', path,
          "\" has a { without a } - expected {name} or {name:format} - check the filepath.");
    const std::string inside = path.substr(open + 1, close - open - 1);
    const std::size_t colon = inside.find(':');
    result += filled_in(value_of(inside.substr(0, colon)), colon == inside.npos ? "" : inside.substr(colon + 1));
    at = close + 1;
  }
  return result;
}

std::string five_places(double value) { return formatted("%.5f", value); }

}  // namespace

ModelCheckpoint::ModelCheckpoint(ModelCheckpointOptions options)
    : MonitorCallback(where, options.monitor, options.mode, 0, options.warn),
      options_(std::move(options)),
      saves_(options_.save_freq) {
  check(!options_.filepath.empty(), ErrorKind::value, where,
        "no filepath - expected the path of a file or folder - set filepath.");
  if (options_.save_weights_only)
    check_is_weights_file(options_.filepath, where);
  else
    check_saves_to(options_.filepath, where);
  if (options_.initial_value_threshold) set_best(*options_.initial_value_threshold);
}

void ModelCheckpoint::on_train_begin(Logs&) {
  const std::optional<double> known = best();
  restart();
  if (known) set_best(*known);
  saves_.restart();
}

void ModelCheckpoint::on_train_batch_end(std::int64_t batch, Logs& logs) {
  if (saves_.due(batch)) save(batch, logs);
}

void ModelCheckpoint::on_epoch_end(int epoch, Logs& logs) {
  epoch_ = epoch;
  if (saves_.each_epoch()) save({}, logs);
}

CallbackState ModelCheckpoint::state() const {
  CallbackState state(where);
  saves_.save(state);
  state.set("best", best());
  return state;
}

void ModelCheckpoint::restore(const CallbackState& state) {
  saves_.restore(state);
  set_best(state.number_if("best"));
}

void ModelCheckpoint::save(std::optional<std::int64_t> batch, const Logs& logs) {
  const std::string path = filled_in(options_.filepath, [&](const std::string& name) -> Number {
    if (name == "epoch") return {static_cast<double>(epoch_ + 1), true};
    if (name == "batch" && batch) return {static_cast<double>(*batch + 1), true};
    check(logs.contains(name), ErrorKind::value, where, "Failed to format this callback filepath: \"",
          options_.filepath, "\" names {", name, "} - expected a name of the logs - check the filepath.");
    return {logs[name]};
  });
  if (options_.save_best_only && !is_best(logs, path)) return;
  if (!options_.save_best_only && options_.verbose > 0)
    print_message(options_.print, "\nEpoch " + std::to_string(epoch_ + 1) + ": saving model to " + path);
  vfs_or_host({}, where)->make_folders(parent_of(path));
  if (options_.save_weights_only)
    model().save_weights(path);
  else
    model().save(path);
}

bool ModelCheckpoint::is_best(const Logs& logs, const std::string& path) {
  direction(logs);
  const auto current = monitored(logs, "Can save best model only with");
  if (!current) return false;
  const std::optional<double> before = best();
  const bool better = is_improvement(*current, before);
  const std::string figure = "\nEpoch " + std::to_string(epoch_ + 1) + ": " + monitor();
  const std::string was = before ? five_places(*before) : "None";
  if (better) set_best(*current);
  if (options_.verbose > 0)
    print_message(options_.print, better ? figure + " improved from " + was + " to " + five_places(*current) +
                                               ", saving model to " + path
                                         : figure + " did not improve from " + was);
  return better;
}

}  // namespace etude
