#pragma once

#include <cstdint>
#include <optional>

#include "etude/initializers/initializer.hpp"

namespace etude::initializers {

/// An initializer with random draws. With its own seed, each call gives the same values, as in Keras; with the global
/// seed, each call uses a new stream.
class Seeded : public Initializer {
 public:
  explicit Seeded(std::optional<std::int64_t> seed) : seed_(seed) {}

  void skip() override {
    if (!seed_) next_random_stream();
  }

 protected:
  Random begin() const {
    return Random(seed_ ? static_cast<std::uint64_t>(*seed_) : random_seed(), RandomStream::initializer,
                  seed_ ? 0 : next_random_stream());
  }

 private:
  std::optional<std::int64_t> seed_;
};

}  // namespace etude::initializers
