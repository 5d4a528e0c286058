#include "etude/training/prediction_stream.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/data/npy_writer.hpp"
#include "etude/training/detail/training_loop.hpp"

namespace etude {
namespace {

/// Output `index` of all batches, concatenated along axis 0: a copy. Throws Error(shape) if they differ in more than
/// rows.
Tensor concatenated_rows(const std::vector<std::vector<Tensor>>& batches, std::size_t index) {
  const Tensor& first = batches.front()[index];
  if (batches.size() == 1) return first.clone();
  std::int64_t rows = 0;
  for (const std::vector<Tensor>& batch : batches) {
    const Shape& shape = batch[index].shape();
    check(shape.rank() > 0 && shape.slice(1, shape.rank()) == first.shape().slice(1, first.shape().rank()),
          ErrorKind::shape, "predict_stream", "outputs of shape ", shape, " after ", first.shape(),
          " within one execution - expected the same shape except for rows - compile({.steps_per_execution = 1}).");
    rows += shape[0];
  }
  Shape shape = first.shape();
  shape[0] = rows;
  Tensor all(shape, first.dtype());
  std::byte* to = all.raw();
  for (const std::vector<Tensor>& batch : batches) to = std::copy_n(batch[index].raw(), batch[index].bytes(), to);
  return all;
}

}  // namespace

/// The loop of predict, which pauses after each execution until its batches are consumed.
class PredictionLoop : public PredictionSink {
 public:
  PredictionLoop(LoopModel& model, Data x, PredictOptions options)
      : model_(model), loop_(predict_into(model, std::move(x), std::move(options), *this)) {}
  ~PredictionLoop() override {
    closed_ = true;
    try {
      if (stands_) run();  // exceptions of its hooks are ignored
    } catch (const Error&) {
      // If another thread runs a loop of the model, the end hooks of this one are not called.
    }
  }

  Task<std::optional<std::vector<Tensor>>> next() {
    TrainingLoop::check_outside_steps("predict_stream");
    check(
        !runs(), ErrorKind::state, "predict_stream",
        "a batch was requested while another is pending, or in a hook of this loop - expected one at a time - await it "
        "first.");
    const Consumer consumer(*this);
    if (batches_.empty() && !closed_ && !over()) co_await Advance{*this};
    if (batches_.empty()) co_return std::nullopt;
    std::vector<Tensor> outputs = std::move(batches_.front());
    batches_.erase(batches_.begin());
    co_return outputs;
  }

  Task<> close() {
    batches_.clear();
    closed_ = true;
    if (!stands_) co_return;
    const Consumer consumer(*this);
    co_await Advance{*this};
  }

  Task<> write_npy(std::vector<std::string> paths) {
    for (const std::string& path : paths)
      check(std::ranges::count(paths, path) == 1, ErrorKind::value, "predict_stream", '"', path,
            "\" for several outputs - expected a file for each - give them different names.");
    std::vector<std::unique_ptr<NpyWriter>> files;
    for (std::string& path : paths) files.push_back(std::make_unique<NpyWriter>(std::move(path)));
    for (;;) {
      const std::optional<std::vector<Tensor>> outputs = co_await next();
      if (!outputs) break;
      check(outputs->size() == files.size(), ErrorKind::value, "predict_stream", files.size(), " paths for ",
            outputs->size(), " outputs - expected a file for each - pass as many names.");
      for (std::size_t i = 0; i < files.size(); ++i) files[i]->append((*outputs)[i]);
    }
    for (const auto& file : files) file->commit();
  }

  void receive(const StepFunction& function) override {
    std::vector<Tensor> outputs;
    for (std::size_t i = 0; i < function.output_count(); ++i) {
      Tensor& output = outputs.emplace_back(function.output_shape(i), function.output_dtype(i));
      function.read_output(i, output.raw());
    }
    batches_.push_back(std::move(outputs));
  }
  std::vector<Tensor> outputs() const override {
    std::vector<Tensor> result;
    for (std::size_t i = 0; !batches_.empty() && i < batches_.front().size(); ++i)
      result.push_back(concatenated_rows(batches_, i));
    return result;
  }
  bool closed() const override { return closed_; }

 private:
  PendingPtr handed_over() override { return std::make_unique<Demand>(*this); }

  /// The pending request that the paused loop awaits.
  struct Demand : Pending {
    explicit Demand(PredictionLoop& waiting) : stream(waiting) {}
    bool ready() const override { return false; }
    void on_ready(std::coroutine_handle<> resume) override {
      stream.stands_ = resume;
      if (const auto consumer = std::exchange(stream.consumer_, {})) consumer.resume();
    }
    void rethrow() override {}
    PredictionLoop& stream;
  };

  /// Resumes the loop up to its next pause, or to its end.
  struct Advance {
    bool await_ready() {
      stream.run();
      return !stream.runs();
    }
    void await_suspend(std::coroutine_handle<> consumer) {
      stream.consumer_ = consumer;
      stream.loop_.await_suspend(consumer);
    }
    void await_resume() {
      if (!stream.over()) return;
      stream.batches_.clear();  // of an incomplete execution
      stream.loop_.await_resume();
    }
    PredictionLoop& stream;
  };

  /// The coroutine that awaits a batch, if there is one.
  struct Consumer {
    explicit Consumer(PredictionLoop& wanted) : stream(wanted) {}
    Consumer(const Consumer&) = delete;
    Consumer& operator=(const Consumer&) = delete;
    ~Consumer() {
      stream.consumer_ = {};
      stream.loop_.await_suspend(std::noop_coroutine());
    }
    PredictionLoop& stream;
  };

  bool over() const { return begun_ && loop_.done(); }
  /// Whether the loop is running, or waits for an event loop.
  bool runs() const { return begun_ && !stands_ && !loop_.done(); }
  /// On one thread at a time. Between two batches, other threads may run loops of the model.
  void run() {
    const OnThread thread(model_, "predict_stream");
    if (std::exchange(begun_, true))
      std::exchange(stands_, {}).resume();
    else
      loop_.await_ready();
  }

  LoopModel& model_;
  bool begun_ = false, closed_ = false;
  /// The batches of the last execution that were not yielded yet.
  std::vector<std::vector<Tensor>> batches_;
  std::coroutine_handle<> stands_, consumer_;
  Task<> loop_;
};

namespace {

std::vector<std::string> list_of(std::string path) { return {std::move(path)}; }
std::vector<std::string> list_of(std::vector<std::string> paths) { return paths; }

using Tensors = std::vector<Tensor>;
Task<std::optional<Tensors>> next_of(PredictionLoop& loop, std::type_identity<Tensors>) { return loop.next(); }
Task<std::optional<Tensor>> next_of(PredictionLoop& loop, std::type_identity<Tensor>) {
  std::optional<Tensors> outputs = co_await loop.next();
  if (!outputs) co_return std::nullopt;
  check(outputs->size() == 1, ErrorKind::value, "predict_stream", "a model with ", outputs->size(),
        " outputs - expected one - call predict_outputs_stream().");
  co_return std::move(outputs->front());
}

}  // namespace

template <class Batch>
BatchStream<Batch>::BatchStream(LoopModel& model, Data x, PredictOptions options)
    : loop_(std::make_unique<PredictionLoop>(model, std::move(x), std::move(options))) {}
template <class Batch> BatchStream<Batch>::BatchStream(BatchStream&&) noexcept = default;
template <class Batch> BatchStream<Batch>& BatchStream<Batch>::operator=(BatchStream&&) noexcept = default;
template <class Batch> BatchStream<Batch>::~BatchStream() = default;

template <class Batch> Task<std::optional<Batch>> BatchStream<Batch>::next_task() {
  return next_of(*loop_, std::type_identity<Batch>());
}
template <class Batch> Task<> BatchStream<Batch>::write_npy_task(Paths paths) {
  return loop_->write_npy(list_of(std::move(paths)));
}
template <class Batch> Task<> BatchStream<Batch>::close_task() { return loop_->close(); }

template class BatchStream<Tensor>;
template class BatchStream<std::vector<Tensor>>;

}  // namespace etude
