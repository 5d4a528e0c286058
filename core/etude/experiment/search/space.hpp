#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etude::experiment {

/// A value of a hyperparameter: a bool, a number, a text, or any other JSON.
class HyperparameterValue {
 public:
  /// A bool.
  HyperparameterValue(bool value) : json_(value ? "true" : "false") {}
  /// A whole number.
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  HyperparameterValue(T value) : json_(std::to_string(value)) {}
  /// A number. Throws Error(value) unless it is finite.
  HyperparameterValue(double value);
  /// A text.
  HyperparameterValue(const char* value) : HyperparameterValue(std::string(value)) {}
  /// A text.
  HyperparameterValue(const std::string& value);

  /// The value of a JSON text. Throws Error(data) for invalid JSON.
  static HyperparameterValue of_json(std::string_view text);
  /// The value as JSON.
  const std::string& json() const { return json_; }

 private:
  std::string json_;
};

struct NamedHyperparameter;

/// Hyperparameters with their names, in the order in which they are drawn.
using Hyperparameters = std::vector<NamedHyperparameter>;

/// A hyperparameter: the values that a search chooses from. The functions of namespace hyperparameters make them.
struct Hyperparameter {
  /// Which values: one; whole numbers in a range; numbers in a range; powers of a base whose exponent is in a range;
  /// one of a list; several hyperparameters with names.
  enum class Kind { constant, integer, real, log, categorical, nested };
  /// The kind, which determines which other members are read.
  Kind kind = Kind::constant;
  /// The range, with both ends: of the values, or of the exponents of a log.
  double minval = 0, maxval = 0;
  /// The base of a log.
  double base = 10;
  /// The number of values in a grid search, evenly spaced from minval to maxval.
  std::optional<int> count = {};
  /// The value of a constant, or the values of a categorical.
  std::vector<HyperparameterValue> values = {};
  /// Those of a nested one.
  std::vector<NamedHyperparameter> members;  // without "= {}", for which Clang demands the complete type
};

/// A hyperparameter and its name.
struct NamedHyperparameter {
  /// The name, unique among its neighbours.
  std::string name;
  /// Its values.
  Hyperparameter values;
};

namespace hyperparameters {

/// The same value in all trials.
Hyperparameter constant(HyperparameterValue value);
/// Whole numbers from minval to maxval.
Hyperparameter integer(std::int64_t minval, std::int64_t maxval, std::optional<int> count = {});
/// Numbers from minval to maxval.
Hyperparameter real(double minval, double maxval, std::optional<int> count = {});
/// base to the power of an exponent from minval to maxval, in 12 digits.
Hyperparameter log(double minval, double maxval, double base = 10, std::optional<int> count = {});
/// One of these values.
Hyperparameter categorical(std::vector<HyperparameterValue> values);
/// An object of hyperparameters.
Hyperparameter nested(Hyperparameters members);

}  // namespace hyperparameters

/// The hyperparameters of a JSON object. Each member is {"type": "int", "minval": 1, "maxval": 8}, also with "count";
/// "double" and "log" alike, "log" also with "base"; {"type": "categorical", "vals": [..]}; {"type": "const", "val":
/// 1}; an object without a text "type", which is nested; or any other JSON, a constant. Throws Error(data) for invalid
/// JSON, and Error(value), naming the hyperparameter, for others.
Hyperparameters hyperparameters_from_json(std::string_view text);
/// The same hyperparameters as JSON.
std::string to_json(const Hyperparameters& space);

/// Throws Error(value), naming the hyperparameter, unless all ranges and lists have values. With `counts`, also for a
/// range without a count, or a grid of more than a million points.
void check_hyperparameters(const Hyperparameters& space, bool counts = false);

/// The hyperparameters of a trial, a JSON object: the same on all targets. The draw of each depends on the seed, the
/// number of the trial, and its place among all hyperparameters, so that one that is added at the end changes no other.
std::string sample_hyperparameters(const Hyperparameters& space, std::uint64_t seed, int trial);

/// The number of points of the grid: the product of all counts.
std::int64_t grid_size(const Hyperparameters& space);
/// One point of the grid, from 0 on, a JSON object. The last hyperparameter changes first.
std::string grid_point(const Hyperparameters& space, std::int64_t index);

}  // namespace etude::experiment
