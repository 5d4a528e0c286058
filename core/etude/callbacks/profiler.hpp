#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/callbacks/detail/process_usage.hpp"
#include "etude/callbacks/file_sink.hpp"
#include "etude/training/callback.hpp"

namespace etude {

class Arena;
class TraceEvents;

struct ProfilerOptions {
  std::string filepath = {};
  /// Counted from 0 over all epochs of the fit.
  std::int64_t profiling_start = 0;
  std::int64_t profiling_end = 10;
  bool sync_timings = true;
  /// Opens the file; host().files if empty.
  OpenFile open = {};

  template <class O = ProfilerOptions> static constexpr auto fields() {
    return option_rows(option<&O::filepath>("Path of the trace, such as \"trace.json\".", Need::required),
                       option<&O::profiling_start>("Index of the first profiled step of the fit."),
                       option<&O::profiling_end>("Index after the last one."),
                       option<&O::sync_timings>("Whether a GPU's instructions are timed one by one."),
                       option<&O::open>("Function that opens the file instead of the host."));
  }
};

/// Writes a trace of some steps of fit in Chrome's trace event format, which https://ui.perfetto.dev and
/// chrome://tracing open. The process of the trace is the rank, its threads are the replicas of this process. Replica 0
/// also has the work of the loop:
///
///     epoch         with its index; of all epochs
///     step          an execution, with the indices of its first and last step within the epoch
///     validation    and its test_step, each an execution
///     data          waits for a batch
///     trace         traces and compiles a step for a batch of a new shape
///     run           runs the plans of an execution
///     callbacks     hooks at the end of an execution or an epoch, the values that they read included
///
/// The instructions are within "run", with their names and texts in Model::explain(), their number there, their
/// operations and bytes. An AllReduce has the bytes that each replica sums. Counters are the memory of the process, the
/// processor cores that it uses, and the free memory of GPUs, at each profiled step. Times are microseconds since fit
/// began.
///
/// A GPU takes work from a queue, and replays recorded steps. With `sync_timings`, the instructions of profiled steps
/// are not replayed: each is launched alone, and its time ends when the GPU has run it. Without it, "run" is the time
/// to enqueue a replay. A device whose memory can be read only later has no instructions in the trace either. On an
/// NVIDIA GPU the work, callbacks aside, is also in ranges of NVTX, which Nsight Systems and Nsight Compute show.
///
/// The file is written when fit ends, also by an exception, and is complete or absent. Give a profiler to each process
/// of several with a file of its own. Steps have the same results as without it. Other steps than those profiled take
/// the same time.
class Profiler : public Callback {
 public:
  using Options = ProfilerOptions;
  static constexpr ClassText about{.name = "Profiler",
                                   .text = "Writes a trace of steps and their instructions, for Perfetto.",
                                   .example = R"({"filepath": "trace.json"})"};
  /// Throws Error(value) for an empty filepath, for an empty range of steps, and, without `open`, for the name of
  /// another place, such as "localstorage://trace".
  explicit Profiler(ProfilerOptions options);
  ~Profiler() override;

  Needs needs(Hook) const override { return Needs::nothing; }
  /// Its hooks run after those of other callbacks, whose time it measures.
  bool runs_last() const override { return true; }
  void on_train_begin(Logs&) override;
  /// Throws Error(state) if another profiler watches the model.
  void on_epoch_begin(int epoch, Logs&) override;
  void on_train_batch_begin(std::int64_t step, Logs&) override;
  void on_train_batch_end(std::int64_t step, Logs&) override;
  void on_test_begin(Logs&) override;
  void on_test_batch_begin(std::int64_t step, Logs&) override;
  void on_test_batch_end(std::int64_t step, Logs&) override;
  void on_test_end(Logs&) override;
  void on_epoch_end(int epoch, Logs&) override;
  /// Ends all work that has begun.
  void on_members_change() override;
  /// Throws Error(io) if the file cannot be written.
  void on_train_end(Logs&) override;
  void release() noexcept override;

 private:
  /// Work that has begun.
  struct Open {
    const char* name;
    std::string arguments;
    double began;
  };

  void watch_if_due();
  void stop_watching() noexcept;
  /// Begins work with the beginning of its arguments, and ends the innermost with the rest of them.
  void begin(const char* name, std::string arguments);
  void end(const std::string& more = {});
  void count();
  void write();

  ProfilerOptions options_;
  std::vector<std::shared_ptr<Arena>> arenas_;  ///< by replica
  std::vector<std::unique_ptr<TraceEvents>> events_;
  std::vector<Open> open_;  ///< the innermost work last
  std::string counters_;    ///< JSON
  std::optional<ProcessUsage> usage_;
  double start_ = 0, counted_ = 0;
  std::int64_t steps_ = 0, first_ = 0;  ///< steps before this execution; the index of its first
  int process_ = 0;
  bool running_ = false, watches_ = false;
};

namespace callbacks {

inline constexpr Factory<Profiler> profiler;

}  // namespace callbacks
}  // namespace etude
