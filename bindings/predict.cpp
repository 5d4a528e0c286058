/// Predictions, batch by batch. web/src/predictions.ts makes iterators of them.
#include "bind.hpp"

namespace etude::js {

/// A stream, and the model that it uses.
struct PredictionStream {
  ModelPtr model;
  OutputsStream batches;
};

namespace {

using StreamPtr = std::shared_ptr<PredictionStream>;

// The stream exists until these tasks end. All return lists, since bindings for promises of lists exist already.
Task<std::vector<Tensor>> next(StreamPtr stream) {
  std::optional<std::vector<Tensor>> outputs = co_await stream->batches.next_task();
  if (!outputs) co_return {};
  co_return *std::move(outputs);
}
Task<std::vector<Tensor>> after(StreamPtr, Task<> task) {
  co_await task;
  co_return {};
}

}  // namespace

EMSCRIPTEN_BINDINGS(predict) {
  if (in_worker()) return;
  held<PredictionStream>();
  bind<"predict.stream(model, data, options)", [](ModelPtr model, Data data, PredictOptions options) {
    OutputsStream batches = model->predict_outputs_stream(data, options);
    return StreamPtr(new PredictionStream{std::move(model), std::move(batches)});
  }>();
  /// The outputs of a batch; empty at the end.
  bind<"predict.next(stream)", next>();
  bind<"predict.write_npy(stream, paths)", [](StreamPtr stream, std::vector<std::string> paths) {
    return after(stream, stream->batches.write_npy_task(std::move(paths)));
  }>();
  bind<"predict.close(stream)", [](StreamPtr stream) { return after(stream, stream->batches.close_task()); }>();
}

}  // namespace etude::js
