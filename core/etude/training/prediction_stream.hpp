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

class Model;
class PredictionLoop;

/// What a model makes of its data, batch after batch as it is computed, so that neither need fit into memory:
///
///     for (const Tensor& batch : model.predict_stream(x, {.batch_size = 256})) …
///     model.predict_stream(x).write_npy("predictions.npy");
///
/// It reads what predict reads, with the same options and the same hooks of callbacks. Nothing happens before the first
/// batch is asked for; what is wrong is thrown then, and after an exception there are no more batches.
///
/// A batch has memory of its own: it is valid for as long as it is kept. In memory are those of one execution
/// (steps_per_execution of them), however many there are in all.
///
/// The model must live as long as its stream, and may do anything between two batches: each is made with the weights of
/// the moment in which it is asked for. Steps and layers are those of the first batch, whatever compile() says later.
/// Several streams may be open.
///
/// `Batch` is a Tensor, or for models of several outputs a list of them.
template <class Batch> class BatchStream {
 public:
  /// One file, or one for each output.
  using Paths = std::conditional_t<std::is_same_v<Batch, Tensor>, std::string, std::vector<std::string>>;
  class Iterator;

  /// Of that model and data; nothing runs before the first batch is asked for.
  BatchStream(Model& model, Data x, PredictOptions options);
  /// Takes over what another stream has left.
  BatchStream(BatchStream&&) noexcept;
  BatchStream& operator=(BatchStream&&) noexcept;
  /// Closes it. What hooks throw then is lost.
  ~BatchStream();

  /// The next batch; nothing at the end. Throws what predict does; Error(state) within a step, within a hook of its
  /// own, and while a batch is still awaited.
  std::optional<Batch> next() { return next_task().get(); }
  /// All batches that are left. To be called once.
  Iterator begin() { return Iterator(*this); }
  /// The end of the range.
  std::default_sentinel_t end() const { return {}; }
  /// Writes all rows that are left to files of NumPy (.npy) in host_vfs(). Each has its name when it is whole, and not
  /// before. Throws what `next` and NpyWriter do; Error(value) unless there are as many paths as outputs, each
  /// another one.
  void write_npy(const Paths& paths) { write_npy_task(paths).get(); }
  /// No batch follows. If the end was not reached, callbacks hear of the end of predict now.
  void close() { close_task().get(); }

  /// The same as coroutines, for callers whose callbacks or data have to be waited for. The stream must stay where it
  /// is until they are done.
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
