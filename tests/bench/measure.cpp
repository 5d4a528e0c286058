#include "measure.hpp"

#include <algorithm>

#include "../allocation_counter.hpp"
#include "clock.hpp"

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

Stopwatch::Stopwatch(std::int64_t steps, std::int64_t warm_up)
    : steps_(steps), warm_up_(warm_up), began_(wall_seconds()) {
  laps.reserve(static_cast<std::size_t>(steps));
  allocated.reserve(static_cast<std::size_t>(steps));
  losses.reserve(64);
  ends_.reserve(static_cast<std::size_t>(steps));
}

void Stopwatch::on_train_batch_end(std::int64_t, etude::Logs& logs) {
  const double now = wall_seconds();
  const std::size_t count = etude::allocations();
  if (++step_ == 1) first_ = now - began_;
  if (step_ > warm_up_) note(now, count);
  if (step_ == warm_up_) cpu_ = cpu_seconds();
  if (step_ == steps_) cpu_end_ = cpu_seconds();
  if (step_ >= 8 && (step_ & (step_ - 1)) == 0) losses.emplace_back(step_, logs["loss"]);
  if (step_ >= warm_up_ && (step_ - warm_up_) % chunk() == 0) {
    logs["loss"];  // after the device has computed it
    ends_.push_back(wall_seconds());
  }
  last_ = wall_seconds();
  count_ = etude::allocations();
}

void Stopwatch::note(double now, std::size_t count) {
  laps.push_back(now - last_);
  allocated.push_back(static_cast<double>(count - count_));
}

double Stopwatch::waited_per_step() const {
  std::vector<double> times;
  for (std::size_t i = 1; i < ends_.size(); ++i)
    times.push_back((ends_[i] - ends_[i - 1]) / static_cast<double>(chunk()));
  return times.empty() ? 0 : quantile(times, 0.5);
}

void QuietBar::set_params(const etude::CallbackParams& params) {
  etude::CallbackParams shown = params;
  shown.verbose = 1;
  ProgbarLogger::set_params(shown);
}
