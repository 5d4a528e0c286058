#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "etude/base/detail/termination.hpp"
#include "etude/base/error.hpp"
#include "etude/base/vfs.hpp"

namespace etude {

class Workers;

}  // namespace etude

namespace etude::experiment {

class TrainContext;

/// The status with which the process of a preempted trial exits: 128 + SIGTERM.
inline constexpr int preempted_exit_code = 143;

/// Thrown by Context::fit and Context::batch_process when the trial was asked to end and its checkpoint is stored. The
/// program should exit with preempted_exit_code: trial_main() does.
class Preempted : public std::exception {
 public:
  /// The text.
  const char* what() const noexcept override { return "the trial was preempted: its checkpoint is stored"; }
};

/// Thrown by a trial whose hyperparameters cannot be used, such as a combination for which no model exists. A search
/// then does not start it again. Source: determined.InvalidHP.
class InvalidHP : public Error {
 public:
  /// The reason.
  explicit InvalidHP(const std::string& message) : Error(ErrorKind::value, message) {}
};

/// How a trial is preempted. Each is optional.
struct PreemptOptions {
  /// Watches for requests such as SIGTERM; host().watch_termination if empty.
  WatchTermination termination = {};
  /// A file whose existence is a request.
  std::string file = {};
  /// A function that returns whether there is a request.
  std::function<bool()> requested = {};
  /// With several processes: they ask each other at every k-th call of should_preempt(), which follows each step. A
  /// larger number saves time if steps are short, and ends a trial up to that many steps later.
  std::int64_t every = 1;
};

/// Requests to end the trial early: Context::preempt. While it exists, a first SIGTERM does not end the process: the
/// trial does, after it has stored a checkpoint. One that comes a second or more later ends the process at
/// once. Source: determined.core.PreemptContext.
class PreemptContext {
 public:
  /// `workers`: the processes of the trial; null for one. `train` gets the status. Throws Error(value) for `every`
  /// below 1.
  PreemptContext(PreemptOptions options, std::shared_ptr<Vfs> files, Workers* workers, TrainContext& train);

  /// Whether the trial should end now. With several processes, all must call it after the same step, and all get the
  /// same answer: whether one of them was asked.
  bool should_preempt();
  /// Whether this process was asked. Does not communicate.
  bool requested();
  /// Reports that the trial ends because of the request.
  void acknowledge();

 private:
  const PreemptOptions options_;
  const std::shared_ptr<Vfs> files_;
  Workers* const workers_;
  TrainContext& train_;
  const std::unique_ptr<Termination> termination_;
  bool requested_ = false;
  std::int64_t calls_ = 0;
  bool agreed_ = false;  ///< whether one of several processes was asked
};

}  // namespace etude::experiment
