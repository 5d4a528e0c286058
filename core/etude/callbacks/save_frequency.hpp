#pragma once

#include <cstdint>

#include "etude/training/callback_state.hpp"

namespace etude {

/// The save_freq of callbacks: "epoch", or every so many batches, counted over epochs.
class SaveFrequency {
 public:
  /// Throws Error(value) unless it is "epoch".
  SaveFrequency(const char* name);
  /// Throws Error(value) for less than 1.
  SaveFrequency(std::int64_t batches);
  SaveFrequency(int batches) : SaveFrequency(std::int64_t{batches}) {}
  /// 0: each epoch.
  std::int64_t batches() const { return batches_; }

 private:
  std::int64_t batches_ = 0;
};

/// Counts the batches of a fit and says when it is time to save.
class SaveCounter {
 public:
  /// Counts for that frequency.
  explicit SaveCounter(SaveFrequency frequency) : every_(frequency.batches()) {}

  /// Whether it is each epoch.
  bool each_epoch() const { return every_ == 0; }
  /// Begins to count anew.
  void restart();
  /// Whether it is, after the execution whose last step is `batch`; never where it is each epoch.
  bool due(std::int64_t batch);

  /// Adds its counts to a state.
  void save(CallbackState& state) const;
  /// Takes its counts from a state.
  void restore(const CallbackState& state);

 private:
  std::int64_t every_, last_batch_ = -1, unsaved_ = 0;
};

}  // namespace etude
