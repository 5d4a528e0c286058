#pragma once

#include <cstdint>
#include <deque>

#include "etude/saving/detail/training_state.hpp"
#include "etude/training/callback.hpp"

namespace etude {

/// Keeps the last two states of a fit. They are numbered: states of one number are equal in all processes.
class StateKeeper : public Callback {
 public:
  void on_train_begin(Logs&) override;
  void on_epoch_begin(int epoch, Logs&) override;
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;
  void on_test_batch_end(std::int64_t, Logs&) override { watch(); }
  void on_epoch_end(int epoch, Logs& logs) override;
  PendingPtr take_pending() override { return std::move(pending_); }
  CallbackState state() const override;
  void restore(const CallbackState& state) override;
  bool runs_last() const override { return true; }
  void release() noexcept override { kept_.clear(); }

  /// The number of the newest state; -1 if there is none.
  std::int64_t newest() const { return kept_.empty() ? -1 : kept_.back().number; }
  /// The state of that number; null if it is not kept.
  const Checkpoint* find(std::int64_t number) const;
  /// Drops the states of higher numbers.
  void forget_after(std::int64_t number);
  /// Adds a state of another process.
  void add(std::int64_t number, Checkpoint state);
  /// Returns the fit to the state of that number, which is kept.
  Task<> rewind(Training& training, std::int64_t number);

 private:
  struct Kept {
    std::int64_t number;
    Checkpoint state;
  };
  void keep(TrainingMoment moment, const Logs& logs);
  /// Throws CollectiveError if processes leave or join. The steps of a process that is alone do not, because they have
  /// no all-reduce.
  void watch();
  Task<> place();

  std::deque<Kept> kept_;
  std::int64_t number_ = 0;
  bool stopped_ = false;    ///< whether training was stopped
  bool rewinding_ = false;  ///< until the next epoch has begun
  PendingPtr pending_;
};

}  // namespace etude
