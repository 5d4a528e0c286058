#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "etude/base/random.hpp"
#include "etude/base/shape.hpp"

namespace etude::testing {

/// The random draws of a campaign: the same on every target for the same number of a case.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed, RandomStream::step) {}

  std::size_t below(std::size_t bound) { return random_.below(static_cast<std::uint32_t>(bound)); }
  bool chance(int percent) { return random_.below(100) < static_cast<std::uint32_t>(percent); }
  template <class T> const T& of(const std::vector<T>& list) { return list[below(list.size())]; }
  Random& random() { return random_; }

 private:
  Random random_;
};

using Config = nlohmann::ordered_json;

/// A config of a class with valid values in its fields: {"class_name": …, "config": {…}}.
template <class T> Config random_object(Draws& draw, const std::string& class_name);

/// Changes nodes of a config: to values of other types and sizes, to null, to other classes.
void spoil(Config& config, Draws& draw);

/// A model as its config, and the inputs that it accepts.
struct RandomModel {
  std::string text;
  /// The shape of one sample.
  Shape input;
  /// Whether its inputs are token indices.
  bool tokens = false;
  /// Whether its config was made invalid.
  bool spoilt = false;
  std::set<std::string> classes;
};

/// A model with a layer of the class `featured`. Throws the errors of layers that cannot be called on each other.
RandomModel random_model(Draws& draw, const std::string& featured);

}  // namespace etude::testing
