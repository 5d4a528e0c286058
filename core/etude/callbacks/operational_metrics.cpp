#include "etude/callbacks/operational_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "etude/base/detail/clock.hpp"
#include "etude/callbacks/detail/output.hpp"
#include "etude/training/detail/step_function.hpp"
#include "etude/training/model.hpp"

namespace etude {
namespace {

/// A quantile of sorted values by linear interpolation, numpy's default.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace

void OperationalMetrics::Executions::clear() {
  step_milliseconds.clear();
  seconds = 0;
  samples = 0;
}

void OperationalMetrics::Mean::add(double sum, std::int64_t number) {
  total += sum;
  count += number;
}
std::optional<double> OperationalMetrics::Mean::pop() {
  const auto mean = count ? std::optional(total / static_cast<double>(count)) : std::nullopt;
  *this = {};
  return mean;
}

OperationalMetrics::OperationalMetrics(OperationalMetricsOptions options)
    : clock_(options.clock ? std::move(options.clock) : monotonic_seconds) {}

void OperationalMetrics::on_train_begin(Logs&) {
  epochs_.clear();
  counted_ = checkpoint_writes();
  release();
  watched_ = model().strategy();
  ++watched_->all_reduce_clock().watchers;
}

void OperationalMetrics::release() noexcept {
  if (watched_) --watched_->all_reduce_clock().watchers;
  watched_ = nullptr;
}

void OperationalMetrics::on_epoch_begin(int, Logs&) {
  replayed_.clear();
  compiled_.clear();
  // Reserves memory, so that no step allocates if their number is known.
  replayed_.step_milliseconds.reserve(static_cast<std::size_t>(params().steps.value_or(1024)));
}

void OperationalMetrics::on_train_batch_begin(std::int64_t step, Logs&) {
  const auto function = model().make_train_function();
  trained_ = function->samples();
  traces_ = function->traces();
  first_step_ = step;
  synced_ = watched_->all_reduce_clock().milliseconds;
  began_ = clock_();
}

void OperationalMetrics::on_train_batch_end(std::int64_t step, Logs&) {
  const double seconds = clock_() - began_;
  const auto function = model().make_train_function();
  // Eager steps are traced every time.
  const bool compiled = function->traces() > traces_ && !model().compile_options().run_eagerly;
  Executions& executions = compiled ? compiled_ : replayed_;
  executions.step_milliseconds.push_back(1e3 * seconds / static_cast<double>(step - first_step_ + 1));
  executions.seconds += seconds;
  if (watched_->num_replicas_in_sync() > 1)
    replica_sync_.add(watched_->all_reduce_clock().milliseconds - synced_, step - first_step_ + 1);
  executions.samples += function->samples() - trained_;
}

void OperationalMetrics::on_epoch_end(int epoch, Logs& logs) {
  Executions& counted = replayed_.step_milliseconds.empty() ? compiled_ : replayed_;
  Figures figures;
  std::vector<double>& latencies = counted.step_milliseconds;
  if (!latencies.empty()) {
    std::ranges::sort(latencies);
    figures = {{"step_latency_median_ms", quantile(latencies, 0.5)},
               {"step_latency_p95_ms", quantile(latencies, 0.95)},
               {"step_latency_p99_ms", quantile(latencies, 0.99)}};
    if (counted.seconds > 0)
      figures.emplace_back("samples_per_second", static_cast<double>(counted.samples) / counted.seconds);
  }
  const auto add = [&](const char* name, std::optional<double> value) {
    if (value) figures.emplace_back(name, *value);
  };
  add("prediction_memory_bytes", prediction_bytes_);
  const CheckpointWrites before = std::exchange(counted_, checkpoint_writes());
  checkpoint_write_.add(counted_.milliseconds - before.milliseconds, counted_.count - before.count);
  add("checkpoint_write_ms", checkpoint_write_.pop());
  add("replica_sync_ms", replica_sync_.pop());
  for (const auto& [name, value] : figures) logs.set(name, value);
  figures.insert(figures.begin(), {"epoch", epoch});
  epochs_.push_back(std::move(figures));
}

void OperationalMetrics::on_predict_begin(Logs&) {
  intermediate_bytes_ = 0;
  output_bytes_ = 0;
}

// Between two batches of a stream, other predictions may run.
void OperationalMetrics::on_predict_batch_begin(std::int64_t, Logs&) {
  predicted_ = model().make_predict_function()->samples();
}

void OperationalMetrics::on_predict_batch_end(std::int64_t, Logs&) {
  const auto function = model().make_predict_function();
  if (!function->plan()) intermediate_bytes_.reset();
  if (!intermediate_bytes_) return;
  const auto replicas = static_cast<std::size_t>(model().strategy()->num_local_replicas());
  intermediate_bytes_ = std::max(*intermediate_bytes_, replicas * function->plan()->arena_bytes());
  const auto rows = static_cast<std::size_t>(function->samples() - predicted_);
  for (std::size_t i = 0; i < function->output_count(); ++i) {
    const Shape shape = function->output_shape(i);
    output_bytes_ += rows * static_cast<std::size_t>(shape.size() / shape[0]) * size_of(function->output_dtype(i));
  }
}

void OperationalMetrics::on_predict_end(Logs&) {
  if (!intermediate_bytes_ || output_bytes_ == 0) return;
  std::size_t bytes = *intermediate_bytes_ + output_bytes_;
  for (const Variable& variable : model().variables())
    bytes += variable.bytes() * static_cast<std::size_t>(variable.replicas());
  prediction_bytes_ = static_cast<double>(bytes);
}

std::string OperationalMetrics::json() const {
  std::string text = "{\"epochs\": [";
  for (std::size_t i = 0; i < epochs_.size(); ++i) text += (i ? ", " : "") + json_object(epochs_[i]);
  text += ']';
  if (prediction_bytes_) text += ", \"prediction_memory_bytes\": " + json_number(*prediction_bytes_);
  return text + '}';
}

}  // namespace etude
