#include "etude/callbacks/profiler.hpp"

#include <utility>

#include "etude/base/detail/clock.hpp"
#include "etude/base/detail/number.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/callbacks/detail/trace_events.hpp"
#include "etude/distribute/workers.hpp"
#include "etude/saving/detail/save_model.hpp"
#include "etude/training/detail/step_function.hpp"
#include "etude/training/model.hpp"

namespace etude {
namespace {

constexpr const char* where = "Profiler";

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }
std::string named(const char* name, std::int64_t number) { return quoted(name) + ": " + std::to_string(number); }

}  // namespace

Profiler::Profiler(ProfilerOptions options) : options_(std::move(options)) {
  check(!options_.filepath.empty(), ErrorKind::value, where,
        "no filepath - expected the path of the file to write - set filepath.");
  if (!options_.open) check_is_path(options_.filepath, where);
  check(options_.profiling_start >= 0 && options_.profiling_end > options_.profiling_start, ErrorKind::value, where,
        "profiling_start = ", options_.profiling_start, ", profiling_end = ", options_.profiling_end,
        " - expected the indices of a first step and of one after the last - change them.");
}
Profiler::~Profiler() { stop_watching(); }

void Profiler::on_train_begin(Logs&) {
  stop_watching();
  arenas_ = model().make_train_function()->replicas().arenas;
  events_.clear();
  for (const auto& arena : arenas_) {
    Device& device = arena->device();
    const bool on_host = device.reads_host_memory(), waits = options_.sync_timings && !on_host && !device.reads_later();
    events_.push_back(std::make_unique<TraceEvents>(device, on_host || waits, waits));
  }
  Workers* const workers = model().strategy()->others();
  process_ = workers ? workers->rank() : 0;
  open_.clear();
  counters_.clear();
  steps_ = 0;
  start_ = monotonic_seconds();
  running_ = true;
}

void Profiler::watch_if_due() {
  if (watches_ || !running_ || steps_ < options_.profiling_start || steps_ >= options_.profiling_end) return;
  for (const auto& arena : arenas_)
    check(!arena->watcher, ErrorKind::state, where,
          "another profiler watches this model - expected one at a time - remove one of them.");
  for (std::size_t i = 0; i < arenas_.size(); ++i) arenas_[i]->watcher = events_[i].get();
  watches_ = true;
  usage_ = process_usage();
  counted_ = monotonic_seconds();
}

void Profiler::stop_watching() noexcept {
  if (std::exchange(watches_, false))
    for (const auto& arena : arenas_) arena->watcher = nullptr;
}

void Profiler::begin(const char* name, std::string arguments) {
  events_.front()->forget_hooks();
  events_.front()->begin(name);
  open_.push_back({name, std::move(arguments), monotonic_seconds()});
}

void Profiler::end(const std::string& more) {
  const Open& work = open_.back();
  events_.front()->end(work.name, '{' + work.arguments + more + '}', work.began);
  open_.pop_back();
}

void Profiler::on_epoch_begin(int epoch, Logs&) {
  watch_if_due();
  if (running_) begin("epoch", named("epoch", epoch));
}

void Profiler::on_train_batch_begin(std::int64_t step, Logs&) {
  first_ = step;
  watch_if_due();
  if (watches_) begin("step", named("first", step));
}

void Profiler::on_train_batch_end(std::int64_t step, Logs&) {
  steps_ += step - first_ + 1;
  if (!watches_) return;
  events_.front()->add_hooks();
  end(", " + named("last", step));
  count();
  if (steps_ >= options_.profiling_end) stop_watching();
}

void Profiler::on_test_begin(Logs&) {
  if (watches_) begin("validation", {});
}

void Profiler::on_test_batch_begin(std::int64_t step, Logs&) {
  if (watches_) begin("test_step", named("first", step));
}

void Profiler::on_test_batch_end(std::int64_t step, Logs&) {
  if (!watches_) return;
  events_.front()->add_hooks();
  end(", " + named("last", step));
}

void Profiler::on_test_end(Logs&) {
  if (!watches_) return;
  events_.front()->forget_hooks();
  end();
}

void Profiler::on_epoch_end(int, Logs&) {
  if (!running_) return;
  events_.front()->add_hooks();
  end();
}

void Profiler::on_members_change() {
  while (!open_.empty()) end();
}

void Profiler::on_train_end(Logs&) {
  stop_watching();
  if (std::exchange(running_, false)) write();
}

void Profiler::release() noexcept {
  stop_watching();
  if (!std::exchange(running_, false)) return;
  try {
    while (!open_.empty()) end();
    write();
  } catch (...) {  // fit throws the reason for which it ends
  }
}

/// Adds counters: the usage of the process since the last ones.
void Profiler::count() {
  const double now = monotonic_seconds();
  const auto add = [&](const std::string& name, const std::string& value) {
    counters_ += ",\n{\"ph\": \"C\", \"name\": " + quoted(name) + ", " + named("pid", process_) +
                 ", \"ts\": " + trace_microseconds(start_, now) + ", \"args\": {" + value + "}}";
  };
  const std::optional<ProcessUsage> usage = process_usage();
  if (usage && usage_ && now > counted_) {
    const double cores = (usage->processor_seconds - usage_->processor_seconds) / (now - counted_);
    add("memory", named("bytes", static_cast<std::int64_t>(usage->memory)));
    add("processor", "\"cores\": " + formatted("%.3f", cores));
  }
  usage_ = usage;
  counted_ = now;
  const Device* last = nullptr;
  for (const auto& arena : arenas_) {
    const Device& device = arena->device();
    if (device.reads_host_memory() || std::exchange(last, &device) == &device) continue;
    if (const std::size_t free = device.free_memory())
      add("free memory of " + std::string(device.name()), named("bytes", static_cast<std::int64_t>(free)));
  }
}

void Profiler::write() {
  const auto name = [&](const char* what, std::size_t thread, const std::string& value) {
    return "{\"ph\": \"M\", \"name\": " + quoted(what) + ", " + named("pid", process_) + ", " +
           named("tid", static_cast<std::int64_t>(thread)) + ", \"args\": {\"name\": " + quoted(value) + "}}";
  };
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n" +
                     name("process_name", 0, "rank " + std::to_string(process_));
  for (std::size_t i = 0; i < events_.size(); ++i) {
    text += ",\n" +
            name("thread_name", i, "replica " + std::to_string(i) + " on " + std::string(events_[i]->device().name()));
    events_[i]->write(text, start_, process_, i);
  }
  text += counters_ + "\n]}\n";
  if (!options_.open) {
    const std::shared_ptr<Vfs> files = vfs_or_host({}, where);
    files->make_folders(parent_of(options_.filepath));
    return files->replace(options_.filepath, {text});
  }
  const std::unique_ptr<FileSink> file = options_.open(options_.filepath, false);
  file->append(text);
  file->flush();
}

}  // namespace etude
