#pragma once

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/choice.hpp"
#include "etude/base/error.hpp"
#include "etude/base/nesting.hpp"
#include "etude/metrics/metric.hpp"

namespace etude {

/// An option for a model's outputs, as in Keras: one value for all, one for each in order, or some by the outputs'
/// names. In nested lists and dicts these are paths.
///
///     .loss = "mse"          .loss = {"mse", "mae"}          .loss = {{"age", "mse"}, {"name", "mae"}}
///     .loss = {{"boxes/0", "mse"}, {"boxes/1", "mae"}, {"score", "mse"}}
template <class T> class PerOutput {
 public:
  PerOutput() = default;
  /// One value for all outputs.
  template <std::convertible_to<T> One> PerOutput(One&& one) : one_(std::forward<One>(one)) {}
  /// One value for each output, in their order.
  PerOutput(std::vector<T> list) : list_(std::move(list)) {}
  /// One value for each output, in their order.
  PerOutput(std::initializer_list<T> list) : list_(list) {}
  /// Values by the names of outputs.
  PerOutput(std::map<std::string, T> named) : named_(std::move(named)) {}
  /// Values by the names of outputs.
  PerOutput(std::initializer_list<std::pair<const std::string, T>> named) : named_(named) {}

  /// Whether there are no values.
  bool empty() const { return !one_ && list_.empty() && named_.empty(); }
  /// The value of all outputs.
  const std::optional<T>& one() const { return one_; }
  /// The values of the outputs, in their order.
  const std::vector<T>& list() const { return list_; }
  /// The values by the names of outputs.
  const std::map<std::string, T>& named() const { return named_; }
  /// Calls visit on all values.
  template <class Visitor> void for_each(Visitor&& visit) {
    if (one_) visit(*one_);
    for (T& each : list_) visit(each);
    for (auto& [name, each] : named_) visit(each);
  }

  /// One value for each output in `names`; empty for outputs that a map does not name. `what` is the option's name in
  /// errors. Throws Error(value) for a list of another length and for a name that no output has.
  std::vector<std::optional<T>> resolve(std::span<const std::string> names, std::string_view what) const {
    std::vector<std::optional<T>> result(names.size());
    if (one_) std::ranges::fill(result, one_);
    if (!list_.empty()) {
      check(list_.size() == names.size(), ErrorKind::value, "compile", list_.size(), " entries in `", what,
            "` for a model with ", names.size(),
            " outputs - expected one value for each - pass as many, or a map by name.");
      std::ranges::copy(list_, result.begin());
    }
    for (const auto& [name, each] : named_) {
      const std::ptrdiff_t place = place_of(name, names);
      std::string known;
      for (const std::string& other : names) known += (known.empty() ? "" : ", ") + other;
      check(place >= 0, ErrorKind::value, "compile", "`", what, "` for output \"", name,
            "\" - expected one of: ", known, " - outputs have the names of their layers.");
      result[static_cast<std::size_t>(place)] = each;
    }
    return result;
  }

 private:
  std::optional<T> one_;
  std::vector<T> list_;
  std::map<std::string, T> named_;
};

/// The metrics of an output: several, one, or none.
class MetricList : public std::vector<Choice<Metric>> {
 public:
  using std::vector<Choice<Metric>>::vector;
  /// Several metrics.
  MetricList(std::vector<Choice<Metric>> all) : std::vector<Choice<Metric>>(std::move(all)) {}
  /// One metric.
  template <std::convertible_to<Choice<Metric>> One> MetricList(One&& one) { push_back(std::forward<One>(one)); }
};
/// Metrics by the names of outputs.
using MetricsByName = std::map<std::string, MetricList>;

/// The metrics of a model's outputs: some for all outputs, for each in order, or by the outputs' names.
///
///     .metrics = {"accuracy", "mse"}          .metrics = {{"age", "mse"}, {"name", {"accuracy", "mse"}}}
///     .metrics = std::vector<MetricList>{{}, {"accuracy", "mse"}}
class MetricChoices : public PerOutput<MetricList> {
 public:
  MetricChoices() = default;
  /// Metrics of all outputs.
  MetricChoices(std::initializer_list<Choice<Metric>> all) : PerOutput(MetricList(all)) {}
  /// Metrics of all outputs.
  MetricChoices(MetricList all) : PerOutput(std::move(all)) {}
  /// Metrics of each output, in their order.
  MetricChoices(std::vector<MetricList> each) : PerOutput(std::move(each)) {}
  /// Metrics by the names of outputs.
  MetricChoices(MetricsByName named) : PerOutput(std::move(named)) {}
  // A template, so that `{}` selects the other list: two constructors that accept it are ambiguous to clang.
  /// Metrics by the names of outputs.
  template <std::same_as<MetricsByName::value_type> Named = MetricsByName::value_type>
  MetricChoices(std::initializer_list<Named> named) : PerOutput(MetricsByName(named)) {}

  /// As in PerOutput. For a model of one output all lists belong to that output, as in Keras. The metrics of a list of
  /// outputs, {{"boxes", {"mae", "mse"}}}, are one for each.
  std::vector<std::optional<MetricList>> resolve(std::span<const std::string> names, std::string_view what) const {
    if (names.size() != 1 || list().size() < 2) return PerOutput(by_path(names)).resolve(names, what);
    MetricList all;
    for (const MetricList& each : list()) all.insert(all.end(), each.begin(), each.end());
    return {all};
  }

 private:
  /// These choices, with an entry for each element of a list of outputs.
  PerOutput by_path(std::span<const std::string> names) const;
};

}  // namespace etude
