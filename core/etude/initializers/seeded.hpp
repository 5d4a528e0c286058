#pragma once

#include <cstdint>
#include <optional>

#include "etude/initializers/initializer.hpp"

namespace etude::initializers {

/// An initializer that draws. A seed of its own gives the same values at each call, as in Keras; the global one a new
/// stream.
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
