#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/tensor.hpp"

namespace etude {

/// The source of the values of Logs, which are fetched once each, while their step is the last one that ran.
class LogSource {
 public:
  virtual ~LogSource() = default;
  /// Increased with every change of the values, so that older Logs can detect that theirs are overwritten.
  virtual std::uint64_t generation() const = 0;
  /// The value of the entry at `index`, fetched now.
  virtual double read(std::size_t index) = 0;
  /// The outputs of predict, a Tensor for each; empty for a source without outputs.
  virtual std::vector<Tensor> outputs() const { return {}; }
};

/// The logs of a step or an epoch, in insertion order: loss, metrics, val_* (L-24). Reading a value downloads it from
/// the device. A value that was not read while it was current is lost, and reading it is an Error.
class Logs {
 public:
  /// One value and its name.
  struct Entry {
    /// The name of the value: "loss".
    std::string name;
    /// The value, if it is known.
    double value = 0;
    /// Whether the value was set or fetched.
    bool known = true;
    /// The index of the value in the source.
    std::size_t index = 0;
  };

  Logs() = default;
  /// Logs of these values.
  Logs(std::initializer_list<std::pair<std::string, double>> values);

  /// Whether there are no values.
  bool empty() const { return entries_.empty(); }
  /// The number of values.
  std::size_t size() const { return entries_.size(); }
  /// Whether there is a value of that name.
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// The value of `name`; throws Error(value) with the list of existing names.
  double operator[](std::string_view name) const;
  /// The value at `index`.
  double value(std::size_t index) const { return read(entries_[index]); }
  /// The name of the value at `index`.
  const std::string& name(std::size_t index) const { return entries_[index].name; }

  /// Adds a value, or replaces the value of that name, in place.
  void set(std::string_view name, double value);
  /// Fetches all values, for example for History.
  std::vector<std::pair<std::string, double>> values() const;

  /// Whether these are the logs of on_predict_batch_end.
  bool has_outputs() const { return has_outputs_; }
  /// The outputs of predict in this execution, a Tensor for each: copies, made by this call. Throws Error(value) for
  /// the logs of another hook, Error(state) after the hook.
  std::vector<Tensor> outputs() const;

  /// Adds entries whose values come from `source`. Used by the train function.
  void attach(std::shared_ptr<LogSource> source, const std::vector<std::string>& names);
  /// Attaches the outputs of `source`, valid until its generation changes.
  void attach_outputs(std::shared_ptr<LogSource> source);
  /// Marks every attached value as not fetched, after a new step. Allocates nothing.
  void renew();

 private:
  Entry* find(std::string_view name) const;
  double read(Entry& entry) const;
  bool current() const { return source_ && source_->generation() == generation_; }

  /// Mutable because reading fetches and stores a value.
  mutable std::vector<Entry> entries_;
  std::shared_ptr<LogSource> source_;
  std::uint64_t generation_ = 0;
  bool has_outputs_ = false;
};

}  // namespace etude
