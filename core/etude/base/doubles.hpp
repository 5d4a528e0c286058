#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

namespace etude {

/// An option that a caller passes as one number or as several, as in Keras: thresholds = 0.5, or {0.2, 0.8}. Empty:
/// none.
class Doubles {
 public:
  Doubles() = default;
  /// One number.
  Doubles(double one) : all_{one} {}
  /// Several numbers.
  Doubles(std::initializer_list<double> several) : all_(several) {}
  Doubles(std::vector<double> several) : all_(std::move(several)) {}

  /// Whether there is none.
  bool empty() const { return all_.empty(); }
  /// The numbers.
  const std::vector<double>& all() const { return all_; }

 private:
  std::vector<double> all_;
};

}  // namespace etude
