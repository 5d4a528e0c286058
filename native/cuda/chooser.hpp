#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/choices.hpp"

namespace etude::cuda {

/// Chooses one of several ways to compute something on a GPU, each of which has a name: the one that was measured to be
/// the fastest. Measures each kind once, and keeps the choice.
class Chooser {
 public:
  /// Enqueues work; false if the GPU cannot do it.
  using Work = std::function<bool()>;
  /// Measures work: milliseconds that the GPU takes for it, or nothing if the work returns false.
  using Time = std::function<std::optional<double>(const Work&)>;

  /// `can_time`: whether work can be measured now, which is impossible during a recording.
  Chooser(std::shared_ptr<Choices> choices, Time time, std::function<bool()> can_time)
      : choices_(std::move(choices)), time_(std::move(time)), can_time_(std::move(can_time)) {}

  /// A chooser that uses earlier choices, and else the first way: it measures nothing, and stores nothing.
  Chooser without_measuring() const { return Chooser(choices_, nullptr, nullptr); }

  /// The ways to compute something.
  struct Ways {
    /// Whether a name from an earlier process is still a valid way.
    std::function<bool(const std::string& name)> accepts;
    /// The names of all ways. The first one is used where none can be measured.
    std::function<std::vector<std::string>()> list;
    /// Enqueues the work in this way; see Work. It may be enqueued several times: no way reads its own results.
    std::function<bool(const std::string& name)> run;
  };
  /// The name of the way for `kind`. A kind has one way in a process as long as it is accepted. Nothing if there is no
  /// way, or none of several that were measured succeeded; a later call tries again.
  std::optional<std::string> choose(const std::string& kind, const Ways& ways);
  /// The earlier choice for `kind`, of this or another process.
  std::optional<std::string> known(const std::string& kind) const { return choices_->find(kind); }

 private:
  std::optional<std::string> fastest(const std::vector<std::string>& names, const Ways& ways) const;

  std::shared_ptr<Choices> choices_;
  Time time_;
  std::function<bool()> can_time_;
};

}  // namespace etude::cuda
