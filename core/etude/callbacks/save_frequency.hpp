#pragma once

#include <cstdint>

#include "etude/training/callback_state.hpp"

namespace etude {

/// The save_freq of callbacks: "epoch", or a number of batches, counted across epochs.
class SaveFrequency {
 public:
  /// Throws Error(value) unless it is "epoch".
  SaveFrequency(const char* name);
  /// Throws Error(value) for less than 1.
  SaveFrequency(std::int64_t batches);
  SaveFrequency(int batches) : SaveFrequency(std::int64_t{batches}) {}
  /// The number of batches; 0: each epoch.
  std::int64_t batches() const { return batches_; }

 private:
  std::int64_t batches_ = 0;
};

/// Counts the batches of a fit and determines when to save.
class SaveCounter {
 public:
  /// Counts for that frequency.
  explicit SaveCounter(SaveFrequency frequency) : every_(frequency.batches()) {}

  /// Whether to save after each epoch.
  bool each_epoch() const { return every_ == 0; }
  /// Resets the count.
  void restart();
  /// Whether to save after the execution whose last step is `batch`; always false with each_epoch().
  bool due(std::int64_t batch);

  /// Adds its counts to a state.
  void save(CallbackState& state) const;
  /// Restores its counts from a state.
  void restore(const CallbackState& state);

 private:
  std::int64_t every_, last_batch_ = -1, unsaved_ = 0;
};

}  // namespace etude
