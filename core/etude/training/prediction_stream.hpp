#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "etude/base/task.hpp"
#include "etude/training/options.hpp"

namespace etude {

class LoopModel;
class PredictionLoop;

/// The outputs of a model, batch by batch as they are computed, so that neither data nor outputs need fit into memory:
///
///     for (const Tensor& batch : model.predict_stream(x, {.batch_size = 256})) …
///     model.predict_stream(x).write_npy("predictions.npy");
///
/// It accepts the data and options of predict, and calls the same hooks of callbacks. Nothing runs before the first
/// request for a batch; that request throws errors. After an exception there are no more batches.
///
/// A batch owns its memory. The stream holds the batches of one execution (steps_per_execution of them).
///
/// The model must outlive its stream, and may do anything between two batches: each is made with the current weights.
/// Steps and layers are those at the first batch, even after another compile(). Several streams may be open.
///
/// `Batch` is a Tensor, or a list of them for models of several outputs.
template <class Batch> class BatchStream {
 public:
  /// One file, or one for each output.
  using Paths = std::conditional_t<std::is_same_v<Batch, Tensor>, std::string, std::vector<std::string>>;
  class Iterator;

  /// The stream of that model and data; nothing runs before the first request for a batch.
  BatchStream(LoopModel& model, Data x, PredictOptions options);
  /// Moves another stream's remaining batches to this one.
  BatchStream(BatchStream&&) noexcept;
  BatchStream& operator=(BatchStream&&) noexcept;
  /// Closes the stream. Exceptions of hooks are ignored.
  ~BatchStream();

  /// The next batch; empty at the end. Throws as predict does; Error(state) within a step, within a hook of this loop,
  /// and while another request is pending.
  std::optional<Batch> next() { return next_task().get(); }
  /// Iterates over the remaining batches. Call it once.
  Iterator begin() { return Iterator(*this); }
  /// The end of the range.
  std::default_sentinel_t end() const { return {}; }
  /// Writes all remaining rows to files of NumPy (.npy) in host().files. Each file gets its name when it is complete.
  /// Throws as `next` and NpyWriter do; Error(value) unless there is one distinct path per output.
  void write_npy(const Paths& paths) { write_npy_task(paths).get(); }
  /// Ends the stream. If its end was not reached, the hooks for the end of predict are called now.
  void close() { close_task().get(); }

  /// The same as coroutines, for callers whose callbacks or data must be awaited. The stream must not move until they
  /// are done.
  Task<std::optional<Batch>> next_task();
  /// write_npy as a coroutine.
  Task<> write_npy_task(Paths paths);
  /// close as a coroutine.
  Task<> close_task();

 private:
  std::unique_ptr<PredictionLoop> loop_;
  std::optional<Batch> current_;
};

/// For range-based loops: an input iterator.
template <class Batch> class BatchStream<Batch>::Iterator {
 public:
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  explicit Iterator(BatchStream& stream) : stream_(&stream) { ++*this; }
  const Batch& operator*() const { return *stream_->current_; }
  Iterator& operator++() {
    stream_->current_ = stream_->next();
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return !stream_->current_; }

 private:
  BatchStream* stream_;
};

/// Batches of a model of one output.
using PredictionStream = BatchStream<Tensor>;
/// Batches of a model of several outputs: a Tensor for each.
using OutputsStream = BatchStream<std::vector<Tensor>>;
extern template class BatchStream<Tensor>;
extern template class BatchStream<std::vector<Tensor>>;

}  // namespace etude
