#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/distribute/workers.hpp"
#include "etude/experiment/context.hpp"
#include "etude/saving/detail/json.hpp"

// Context::batch_process.
namespace etude::experiment {
namespace {

constexpr const char* where = "batch_process";

/// The number of processed batches of each process, in a file.
class Positions {
 public:
  Positions(std::string path, Vfs& files, std::size_t processes)
      : path_(std::move(path)), files_(files), batches_(processes) {}

  /// The numbers in the file; 0 if there is none.
  const std::vector<std::int64_t>& load() {
    if (files_.kind(path_) == PathKind::none) return batches_;
    const std::vector<std::byte> bytes = files_.read(path_);
    const Json json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path_);
    std::vector<std::int64_t> batches;
    try {
      batches = json.at("batches").get<std::vector<std::int64_t>>();
    } catch (const Json::exception& error) {
      fail(ErrorKind::data, where, '"', path_, "\" is no position: ", reason_of(error),
           " - expected the file that batch_process() makes - remove it to begin anew.");
    }
    check(batches.size() == batches_.size(), ErrorKind::state, where, '"', path_, "\" is of ", batches.size(),
          " processes - expected ", batches_.size(),
          ", the number of processes now - start as many, or remove the file to begin anew.");
    for (const std::int64_t count : batches)
      check(count >= 0, ErrorKind::data, where, '"', path_, "\" has the position ", count,
            " - expected 0 or more - remove it to begin anew.");
    return batches_ = std::move(batches);
  }
  /// Keeps the earlier file until the new one is complete.
  void store(std::vector<std::int64_t> batches) {
    if (batches == batches_) return;
    batches_ = std::move(batches);
    files_.replace(path_, {json_text({{"batches", batches_}}), "\n"});
  }

 private:
  const std::string path_;
  Vfs& files_;
  std::vector<std::int64_t> batches_;
};

void check_options(const BatchProcessOptions& options) {
  check(options.checkpoint_interval >= 1, ErrorKind::value, where,
        "checkpoint_interval = ", options.checkpoint_interval, " - expected 1 or more batches - change it.");
  check(options.max_batches.value_or(0) >= 0, ErrorKind::value, where,
        "max_batches = ", options.max_batches.value_or(0), " - expected 0 or more - change it.");
  check_id(options.name, "name");
}

}  // namespace

Task<> Context::batch_process_task(std::function<void(std::int64_t done)> begin_after,
                                   std::function<Task<bool>(std::int64_t index)> next, BatchProcessOptions options) {
  check_options(options);
  const int rank = workers_ ? workers_->rank() : 0, count = workers_ ? workers_->count() : 1;
  const auto gather = [this](std::int64_t own) {
    return workers_ ? workers_->all_gather(own) : std::vector<std::int64_t>{own};
  };
  Positions positions(info.storage + '/' + options.name + ".json", *files_, static_cast<std::size_t>(count));
  std::vector<std::int64_t> begin(static_cast<std::size_t>(count));
  if (is_chief()) begin = positions.load();
  if (workers_) workers_->broadcast(std::as_writable_bytes(std::span(begin)));
  std::int64_t done = begin[static_cast<std::size_t>(rank)];
  begin_after(done);
  // Rounds: all processes communicate equally often, also those that have no batches left.
  for (bool ended = false, all_ended = false; !all_ended;) {
    for (std::int64_t i = 0; i < options.checkpoint_interval && !ended && !preempt.requested(); ++i) {
      const bool processed = co_await next(done * count + rank);
      ended = !processed;
      done += processed;
    }
    if (options.on_checkpoint_start) options.on_checkpoint_start();
    const std::vector<std::int64_t> reached = gather(done);
    if (is_chief()) positions.store(reached);
    const std::vector<std::int64_t> ends = gather(ended ? 1 : 0);
    all_ended = std::ranges::all_of(ends, [](std::int64_t end) { return end == 1; });
    if (all_ended || !preempt.should_preempt()) continue;
    preempt.acknowledge();
    throw Preempted();
  }
  if (options.on_finish) options.on_finish();
}

void Context::batch_process(const Dataset& dataset,
                            const std::function<void(const Batch& batch, std::int64_t index)>& process,
                            const BatchProcessOptions& options) {
  DatasetIterator batches(wrap_dataset(options.max_batches ? dataset.take(*options.max_batches) : dataset));
  const auto next = [&](std::int64_t index) -> Task<bool> {
    const std::optional<Batch> batch = co_await batches.next();
    if (batch) process(*batch, index);
    co_return batch.has_value();
  };
  batch_process_task([&](std::int64_t done) { batches.restore({0, done}); }, next, options).get();
}

void Context::batch_process(
    Model& model, const Dataset& dataset,
    const std::function<void(const std::vector<Tensor>& outputs, const Batch& batch, std::int64_t index)>& process,
    const BatchProcessOptions& options) {
  Workers* const others = model.strategy()->others();
  check(
      !others || others->count() == 1, ErrorKind::state, where,
      "a model of a strategy of several processes - expected one of this process, because each process predicts other "
      "batches - load or clone it outside the strategy's scope.");
  const auto predict = [&](const Batch& batch, std::int64_t index) {
    Batch inputs = batch;
    inputs.y.clear();
    inputs.sample_weight.clear();
    process(model.predict_outputs_on_batch(Data(std::move(inputs))), batch, index);
  };
  batch_process(dataset, predict, options);
}

}  // namespace etude::experiment
