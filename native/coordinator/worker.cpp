#include "coordinator/worker.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "coordinator/server_variables.hpp"

namespace etude::coordinator {

class FunctionThread::Context final : public WorkerContext {
 public:
  Context(const ServerCluster& cluster, const ServerProgram& program, const CoordinatorOptions& options)
      : cluster_(cluster), program_(program), options_(options) {}

  int index() const override { return cluster_.index; }
  int count() const override { return static_cast<int>(cluster_.workers.size()); }

  ServerVariables& variables() override {
    check(!cluster_.servers.empty(), ErrorKind::state, "worker",
          "variables without parameter servers - expected at least one server - add its address to the cluster.");
    if (!servers_)
      servers_ = std::make_unique<ServersClient>(cluster_, options_, false, [](const UnavailableError&) {});
    return *servers_;
  }

  Batch next(const std::string& name) override {
    const auto found = std::ranges::find(datasets_, name, &PerWorkerDataset::name);
    check(found != datasets_.end(), ErrorKind::value, "worker", "no dataset ", name,
          " - expected one that was passed to schedule - pass the result of create_per_worker_dataset.");
    auto& passes = iterators_[name];
    const auto pass = std::ranges::find(passes, found->id, [](const auto& each) { return each.first; });
    if (pass == passes.end()) {
      const InputContext context{.num_input_pipelines = count(), .input_pipeline_id = index()};
      const auto creator = program_.datasets.find(name);
      check(creator != program_.datasets.end(), ErrorKind::value, "worker", "no dataset ", name,
            " - expected one of the program - run the same program in all processes.");
      passes.emplace_front(found->id, DatasetIterator(creator->second.dataset_fn(context)));
      if (passes.size() > most_passes) passes.pop_back();
    } else {
      passes.splice(passes.begin(), passes, pass);
    }
    std::optional<Batch> batch = passes.front().second.next().get();
    check(batch.has_value(), ErrorKind::data, "worker", "the dataset ", name,
          " has ended - expected as many batches as the functions take - call repeat().");
    return std::move(*batch);
  }

  Batch next() override {
    check(datasets_.size() == 1, ErrorKind::value, "worker", datasets_.size(),
          " datasets - expected one - pass the name of one to next().");
    return next(datasets_.front().name);
  }

  std::vector<Tensor> call(Job& job) {
    const auto found = program_.functions.find(job.function);
    check(found != program_.functions.end(), ErrorKind::value, "worker", "no function ", job.function,
          " - expected one of the program - run the same program in all processes.");
    datasets_ = std::move(job.datasets);
    return found->second(*this, job.arguments);
  }

 private:
  const ServerCluster& cluster_;
  const ServerProgram& program_;
  const CoordinatorOptions& options_;
  std::unique_ptr<ServersClient> servers_;
  std::vector<PerWorkerDataset> datasets_;
  /// The most passes of a dataset that a worker remembers: of training, of validation, and of evaluate in callbacks.
  static constexpr std::size_t most_passes = 4;
  /// The passes of each dataset by their ids, the one that was used last first.
  std::map<std::string, std::list<std::pair<std::int64_t, DatasetIterator>>> iterators_;
};

FunctionThread::FunctionThread(const ServerCluster& cluster, const ServerProgram& program,
                               const CoordinatorOptions& options)
    : cluster_(cluster), program_(program), options_(options), thread_([this] { loop(); }) {}

FunctionThread::~FunctionThread() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

kj::Promise<Outcome> FunctionThread::run(std::string function, std::vector<Tensor> arguments,
                                         std::vector<PerWorkerDataset> datasets) {
  auto [promise, fulfiller] = kj::newPromiseAndCrossThreadFulfiller<Outcome>();
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(function), std::move(arguments), std::move(datasets), kj::mv(fulfiller)});
  }
  changed_.notify_all();
  return kj::mv(promise);
}

void FunctionThread::loop() {
  Context context(cluster_, program_, options_);
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
    if (stopped_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    if (!job.fulfiller->isWaiting()) continue;  // the coordinator that wanted it has gone
    try {
      job.fulfiller->fulfill(context.call(job));
    } catch (...) {
      job.fulfiller->fulfill(current_failure());
    }
  }
}

}  // namespace etude::coordinator
