#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etude {

/// Where the values behind Logs are fetched from, once each, while their step is the last one that ran.
class LogSource {
 public:
  virtual ~LogSource() = default;
  /// Goes up whenever the values change, so that an older Logs can tell that its own are gone.
  virtual std::uint64_t generation() const = 0;
  virtual double read(std::size_t index) = 0;
};

/// What a step or an epoch reports, in insertion order: loss, metrics, val_* (L-24). A value crosses from the device
/// when somebody looks at it; a value that nobody read while it was current is gone, and reading it is an Error.
class Logs {
 public:
  struct Entry {
    std::string name;
    double value = 0;
    bool known = true;
    std::size_t index = 0;
  };

  Logs() = default;
  Logs(std::initializer_list<std::pair<std::string, double>> values);

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// The value called `name`; throws Error(value) listing the names there are.
  double operator[](std::string_view name) const;
  double value(std::size_t index) const { return read(entries_[index]); }
  const std::string& name(std::size_t index) const { return entries_[index].name; }

  /// Adds a value, or replaces the one of that name in its place.
  void set(std::string_view name, double value);
  /// All values, fetched now: what History keeps.
  std::vector<std::pair<std::string, double>> values() const;

  /// Entries whose values `source` will give. Used by the train function.
  void attach(std::shared_ptr<LogSource> source, const std::vector<std::string>& names);
  /// Marks every attached value as not yet fetched: a new step has run. Allocates nothing.
  void renew();

 private:
  Entry* find(std::string_view name) const;
  double read(Entry& entry) const;

  /// Reading fetches: a value is kept where it was asked for.
  mutable std::vector<Entry> entries_;
  std::shared_ptr<LogSource> source_;
  std::uint64_t generation_ = 0;
};

}  // namespace etude
