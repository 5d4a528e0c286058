#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "etude/experiment/search/searcher.hpp"

namespace etude::experiment {

/// How a trial ended: by itself or because it was stopped; with an error; or because its hyperparameters are invalid.
enum class TrialEnd { finished, failed, invalid };

/// An operation that a search requests.
struct SearchOperation {
  /// Create and start a trial; stop one; or nothing more: all trials have ended.
  enum class Kind { create, stop, done };
  /// The kind.
  Kind kind = Kind::done;
  /// The number of the trial, from 1 on; 0 for done.
  int trial = 0;
  /// For create: the seed of the trial's training.
  std::uint32_t trial_seed = 0;
  /// For create: the hyperparameters, a JSON object.
  std::string hparams = {};
  friend bool operator==(const SearchOperation&, const SearchOperation&) = default;
};

/// Operations, in the order in which they are to be carried out.
using SearchOperations = std::vector<SearchOperation>;

/// A search for hyperparameters, as a state machine: it gets the events of trials and returns operations. It runs
/// nothing itself. The same calls give the same operations on all targets.
///
/// The searchers asha and adaptive_asha stop a trial at a validation, unless its metric is among the best 1 / divisor
/// of the trials that reached the same rung, or the best one. They stop trials that reached the last rung, too. A trial
/// that is stopped or has ended is replaced by a new one while there are fewer than max_trials.
class HyperparameterSearch {
 public:
  /// Throws Error(value) as check_searcher does.
  HyperparameterSearch(SearcherOptions searcher, Hyperparameters space, std::uint64_t seed);
  ~HyperparameterSearch();
  /// A search that was moved from can only be assigned to and destroyed.
  HyperparameterSearch(HyperparameterSearch&&) noexcept;
  HyperparameterSearch& operator=(HyperparameterSearch&&) noexcept;

  /// The first trials. Throws Error(state) unless it is the first call.
  SearchOperations start();
  /// A trial reported a metric after training for `time`, in the measure of time_metric. A metric that is not a number
  /// counts as the worst one. Validations of trials that were stopped have no effect.
  SearchOperations validated(int trial, double metric, double time);
  /// A trial ended. The metrics of an invalid trial are removed; one that failed counts as the worst at its rung.
  /// Throws Error(value) for a trial that ended before.
  SearchOperations exited(int trial, TrialEnd end);

  /// The number of trials that were created.
  int trials() const;
  /// Whether a trial was stopped.
  bool stopped(int trial) const;
  /// Whether all trials have ended.
  bool done() const;
  /// The operation that created a trial.
  SearchOperation creation(int trial) const;

  /// The complete state, as JSON.
  std::string snapshot() const;
  /// Continues from the snapshot of a search with the same arguments: the same calls then give the same operations.
  /// Throws Error(data) for another text.
  void restore(std::string_view snapshot);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etude::experiment
