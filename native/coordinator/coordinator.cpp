#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "coordinator/server_variables.hpp"
#include "etude/training/coordinator.hpp"

namespace etude {

using coordinator::Connection;
using coordinator::ServersClient;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The coordinator's mutex guards it.
struct RemoteValue::State {
  std::string function;
  std::vector<Tensor> arguments;
  std::vector<PerWorkerDataset> datasets;
  bool done = false;
  std::vector<Tensor> results = {};
  std::exception_ptr error = {};
};

namespace {

constexpr const char* where = "ClusterCoordinator";
using Call = std::shared_ptr<RemoteValue::State>;
/// How often the thread of a worker without a function looks whether it has ended.
constexpr milliseconds watch_period{200};

/// Runs a function on a worker.
std::vector<Tensor> run_on(Connection& worker, const RemoteValue::State& call) {
  auto request = worker.task().runRequest(capnp::MessageSize{coordinator::words_of(call.arguments), 0});
  request.setFunction(call.function);
  coordinator::write(request.initArguments(static_cast<capnp::uint>(call.arguments.size())), call.arguments);
  auto datasets = request.initDatasets(static_cast<capnp::uint>(call.datasets.size()));
  for (capnp::uint i = 0; i < datasets.size(); ++i) {
    datasets[i].setName(call.datasets[i].name);
    datasets[i].setId(call.datasets[i].id);
  }
  kj::Promise<capnp::Response<coordinator::schema::Task::RunResults>> promise = request.send();
  return coordinator::read(worker.checked(kj::mv(promise)).getResults());
}

}  // namespace

class ClusterCoordinator::Implementation {
 public:
  Implementation(ServerCluster cluster, ServerProgram program, CoordinatorOptions options)
      : cluster_(std::move(cluster)), program_(std::move(program)), options_(options) {
    check(cluster_.task == "chief", ErrorKind::value, where, "the task \"", cluster_.task,
          "\" - expected \"chief\" - let workers and parameter servers call run_server.");
    coordinator::check_cluster(cluster_, where);
    if (!cluster_.servers.empty())
      servers_ = std::make_unique<ServersClient>(cluster_, options_, true,
                                                 [this](const UnavailableError& error) { lose(error); });
    for (std::size_t i = 0; i < cluster_.workers.size(); ++i)
      threads_.emplace_back([this, i] { serve(static_cast<int>(i)); });
  }

  ~Implementation() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    if (servers_) servers_->shutdown();
  }

  RemoteValue schedule(const std::string& function, std::vector<Tensor> arguments,
                       std::vector<PerWorkerDataset> datasets) {
    check(program_.functions.contains(function), ErrorKind::value, where, "no function ", function,
          " - expected one of the program - add it to ServerProgram::functions in all processes.");
    Call call =
        std::make_shared<RemoteValue::State>(RemoteValue::State{function, std::move(arguments), std::move(datasets)});
    {
      std::unique_lock lock(mutex_);
      throw_failure(lock);
      if (queue_.empty() && running_ == 0 && available_ == 0) absent_since_ = steady_clock::now();
      queue_.push_back(call);
    }
    changed_.notify_all();
    return RemoteValue(std::move(call));
  }

  void join() {
    std::unique_lock lock(mutex_);
    await(lock, [this] { return queue_.empty() && running_ == 0; });
    throw_failure(lock);
  }

  bool done() {
    std::unique_lock lock(mutex_);
    throw_failure(lock);
    const bool done = queue_.empty() && running_ == 0;
    if (!done) expect_worker();
    return done;
  }

  std::vector<Tensor> fetch(const RemoteValue& value) {
    std::unique_lock lock(mutex_);
    const Call& call = value.state();
    await(lock, [&] { return call->done; });
    if (!call->done) throw_failure(lock);
    if (call->error) std::rethrow_exception(call->error);
    return call->results;
  }

  PerWorkerDataset create_per_worker_dataset(const std::string& name) {
    check(program_.datasets.contains(name), ErrorKind::value, where, "no dataset ", name,
          " - expected one of the program - add it to ServerProgram::datasets in all processes.");
    const std::lock_guard lock(mutex_);
    return {name, ++datasets_};
  }

  ServerVariables& variables() {
    check(servers_ != nullptr, ErrorKind::state, where,
          "variables without parameter servers - expected at least one server - add its address to the cluster.");
    return *servers_;
  }

  int available_workers() const {
    const std::lock_guard lock(mutex_);
    return available_;
  }

 private:
  /// Waits until `ready`, or until a parameter server is lost. Throws if no worker is there for too long.
  template <class Ready> void await(std::unique_lock<std::mutex>& lock, Ready ready) {
    while (!ready() && !lost_) {
      expect_worker();
      if (available_ > 0)
        changed_.wait(lock);
      else
        changed_.wait_until(lock, absent_since_ + options_.absence);
    }
  }

  /// Throws if no worker was there for too long.
  void expect_worker() const {
    if (available_ == 0 && steady_clock::now() >= absent_since_ + options_.absence)
      throw UnavailableError("worker", -1, "none for too long; " + reason_);
  }

  /// Throws the error of a lost server, or that of the first function that failed, which is then forgotten, after the
  /// functions that run have ended.
  void throw_failure(std::unique_lock<std::mutex>& lock) {
    if (error_) await(lock, [this] { return running_ == 0; });
    if (lost_) throw UnavailableError(*lost_);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  /// A parameter server is unavailable: nothing more can run.
  void lose(const UnavailableError& error) {
    {
      const std::lock_guard lock(mutex_);
      if (!lost_) lost_ = error;
      drop(std::make_exception_ptr(*lost_));
    }
    changed_.notify_all();
  }

  /// Ends all calls that did not begin.
  void drop(const std::exception_ptr& error) {
    for (const Call& call : queue_) {
      call->error = error;
      call->done = true;
    }
    queue_.clear();
  }

  void finish(const Call& call, std::vector<Tensor> results, const std::exception_ptr& error) {
    call->results = std::move(results);
    call->error = error;
    call->done = true;
    if (!error) return;
    if (!error_) error_ = error;
    drop(error);
  }

  /// A worker has ended.
  void leave(std::optional<Connection>& worker, const char* reason) {
    reason_ = reason;
    worker.reset();
    if (--available_ == 0) absent_since_ = steady_clock::now();
    changed_.notify_all();
  }

  /// The thread of a worker: connects with it, again if it was lost, and runs functions on it.
  void serve(int index) {
    kj::AsyncIoContext io = kj::setupAsyncIo();
    std::optional<Connection> worker;
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      if (!worker) {
        lock.unlock();
        std::string reason;
        try {
          worker.emplace(io, cluster_, coordinator::Peer{"worker", index}, options_.timeout,
                         steady_clock::now() + std::min(options_.timeout, milliseconds(1000)));
        } catch (const Error& error) {  // it is not there yet
          reason = error.what();
        }
        lock.lock();
        if (worker) {
          ++available_;
          changed_.notify_all();
        } else {
          reason_ = reason;
          changed_.wait_for(lock, milliseconds(50), [this] { return stopped_; });
        }
        continue;
      }
      if (!changed_.wait_for(lock, watch_period, [this] { return stopped_ || !queue_.empty(); })) {
        lock.unlock();
        const bool gone = !worker->connected();
        lock.lock();
        if (gone) leave(worker, "its connection ended");
        continue;
      }
      if (stopped_) break;
      const Call call = queue_.front();
      queue_.pop_front();
      ++running_;
      lock.unlock();
      std::vector<Tensor> results;
      std::exception_ptr error;
      bool gone = false;
      try {
        results = run_on(*worker, *call);
      } catch (const UnavailableError& unavailable) {
        if (unavailable.task() == "ps")
          lose(unavailable);
        else
          gone = true;
        error = std::current_exception();
      } catch (const Error&) {
        error = std::current_exception();
      } catch (...) {  // of Cap'n Proto
        const coordinator::Failed failed = coordinator::current_failure();
        error = std::make_exception_ptr(Error(failed.kind, failed.text));
      }
      lock.lock();
      --running_;
      if (!gone) {
        finish(call, std::move(results), error);
      } else {
        leave(worker, "its connection ended, or it did not answer");
        // Another worker runs it, before all others.
        if (lost_ || error_)
          finish(call, {}, error);
        else
          queue_.push_front(call);
      }
      changed_.notify_all();
    }
    lock.unlock();
    if (!worker) return;
    try {
      kj::Promise<capnp::Response<coordinator::schema::Task::ShutdownResults>> promise =
          worker->task().shutdownRequest().send();
      worker->await(kj::mv(promise));
    } catch (const Error&) {  // it has ended
    }
  }

  ServerCluster cluster_;
  ServerProgram program_;
  CoordinatorOptions options_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<Call> queue_;
  int running_ = 0, available_ = 0;
  bool stopped_ = false;
  std::string reason_ = "not connected yet";  ///< why the last attempt to connect with a worker failed
  std::int64_t datasets_ = 0;
  std::exception_ptr error_;
  std::optional<UnavailableError> lost_;
  steady_clock::time_point absent_since_ = steady_clock::now();
  std::unique_ptr<ServersClient> servers_;
  std::vector<std::thread> threads_;
};

ClusterCoordinator::ClusterCoordinator(ServerCluster cluster, ServerProgram program, CoordinatorOptions options)
    : implementation_(std::make_unique<Implementation>(std::move(cluster), std::move(program), options)) {}
ClusterCoordinator::~ClusterCoordinator() = default;

RemoteValue ClusterCoordinator::schedule(const std::string& function, std::vector<Tensor> arguments,
                                         std::vector<PerWorkerDataset> datasets) {
  return implementation_->schedule(function, std::move(arguments), std::move(datasets));
}
void ClusterCoordinator::join() { implementation_->join(); }
bool ClusterCoordinator::done() { return implementation_->done(); }
std::vector<Tensor> ClusterCoordinator::fetch(const RemoteValue& value) { return implementation_->fetch(value); }
PerWorkerDataset ClusterCoordinator::create_per_worker_dataset(const std::string& name) {
  return implementation_->create_per_worker_dataset(name);
}
ServerVariables& ClusterCoordinator::variables() { return implementation_->variables(); }
int ClusterCoordinator::available_workers() const { return implementation_->available_workers(); }

}  // namespace etude
