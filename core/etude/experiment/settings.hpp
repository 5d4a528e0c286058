#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace etude::experiment {

/// A single value of Settings.
using Setting = std::variant<bool, std::int64_t, double, std::string>;

/// Values by name, as of a JSON object: hyperparameters, or the metadata of a checkpoint. Copies share the values.
///
///     const double rate = context.info.trial.hparams.number("learning_rate");
///     const std::string name = context.info.trial.hparams.group("optimizer").text("name");
///
/// A function for one name throws Error(value) if the name does not exist, with the list of those that do, and if its
/// value has another type. With a second argument it returns that one for a missing name.
class Settings {
 public:
  /// No values.
  Settings() = default;
  /// These values: `{{"learning_rate", 0.1}, {"units", 32}}`.
  Settings(std::initializer_list<std::pair<std::string, Setting>> values);
  /// The members of a JSON object; `where` is its name in errors. Throws Error(data) for other texts.
  static Settings parse(std::string_view json, const std::string& where);

  /// Whether there are no values.
  bool empty() const;
  /// Whether there is a value of that name.
  bool contains(std::string_view name) const;
  /// The names, in their order.
  std::vector<std::string> names() const;

  /// A number; integers too.
  double number(std::string_view name) const;
  double number(std::string_view name, double otherwise) const { return contains(name) ? number(name) : otherwise; }
  /// A number without a fraction.
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    return contains(name) ? integer(name) : otherwise;
  }
  /// A text.
  std::string text(std::string_view name) const;
  std::string text(std::string_view name, const std::string& otherwise) const {
    return contains(name) ? text(name) : otherwise;
  }
  /// True or false.
  bool flag(std::string_view name) const;
  bool flag(std::string_view name, bool otherwise) const { return contains(name) ? flag(name) : otherwise; }
  /// A list of numbers, such as the units of several layers.
  std::vector<double> numbers(std::string_view name) const;
  /// Nested values.
  Settings group(std::string_view name) const;

  /// The JSON object, on one line.
  std::string json() const;

 private:
  struct Content;
  explicit Settings(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  const Content& values() const;

  /// Null: no values.
  std::shared_ptr<const Content> content_;
};

}  // namespace etude::experiment
