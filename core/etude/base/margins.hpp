#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "etude/base/integers.hpp"

namespace etude {

/// The numbers of entries that are added to, or cut from, both ends of axes, as in Keras: 1, for both ends of all axes;
/// {1, 2}, for the two ends of one axis, or for both ends of the first axis and of the second; {{1, 2}, {3, 4}}, for
/// each end of each axis.
class Margins {
 public:
  /// One number for all ends.
  Margins(std::int64_t all) : entries_{all} {}
  /// An entry for each axis, or end.
  Margins(std::initializer_list<Integers> entries) : entries_(entries) {}
  Margins(std::vector<Integers> entries) : entries_(std::move(entries)) {}

  /// The entries.
  const std::vector<Integers>& entries() const { return entries_; }
  /// "1", "[1, 2]" or "[[1, 2], [3, 4]]".
  std::string to_string() const {
    std::string text;
    for (const Integers& entry : entries_) text += (text.empty() ? "" : ", ") + entry.to_string();
    return entries_.size() > 1 ? '[' + text + ']' : text;
  }

 private:
  std::vector<Integers> entries_;
};

inline std::ostream& operator<<(std::ostream& out, const Margins& margins) { return out << margins.to_string(); }

}  // namespace etude
