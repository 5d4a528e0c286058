#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <etude/etude.hpp>

/// The q-quantile of the values.
double quantile(std::vector<double> values, double q);

/// Records the time and the allocations of every step, from the end of the previous one; its memory is allocated before
/// the first. Also records the epoch's mean loss at steps 8, 16, 32, …, counted from 1, for comparing targets.
class Stopwatch : public etude::Callback {
 public:
  /// `warm_up` of the steps are not recorded.
  Stopwatch(std::int64_t steps, std::int64_t warm_up);

  void on_train_batch_end(std::int64_t, etude::Logs& logs) override;

  /// Over all recorded steps.
  double cpu_per_step() const { return (cpu_end_ - cpu_) / static_cast<double>(laps.size()); }
  /// The median over some chunks of steps, each between two waits for the device.
  double waited_per_step() const;
  /// The time of the first step, its trace and compilation included.
  double first() const { return first_; }
  std::vector<double> laps, allocated;
  std::vector<std::pair<std::int64_t, double>> losses;

 private:
  void note(double now, std::size_t count);
  std::int64_t chunk() const { return std::max<std::int64_t>((steps_ - warm_up_) / 7, 1); }

  std::int64_t step_ = 0, steps_, warm_up_;
  std::vector<double> ends_;  ///< of chunks
  double began_, last_ = 0, cpu_ = 0, cpu_end_ = 0, first_ = 0;
  std::size_t count_ = 0;
};

/// The bar that fit shows by default, drawn but not printed: the output is JSON lines.
class QuietBar : public etude::ProgbarLogger {
 public:
  QuietBar() : ProgbarLogger([](std::string_view) {}) {}
  void set_params(const etude::CallbackParams& params) override;
};
