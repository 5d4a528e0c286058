#pragma once

#include <kj/async.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "coordinator/messages.hpp"
#include "etude/training/coordinator.hpp"

namespace etude::coordinator {

/// The result of a function of a worker.
using Outcome = std::variant<std::vector<Tensor>, Failed>;

/// A function that a worker is to run.
struct Job {
  std::string function;
  std::vector<Tensor> arguments;
  std::vector<PerWorkerDataset> datasets;
  kj::Own<kj::CrossThreadPromiseFulfiller<Outcome>> fulfiller;
};

/// Runs the functions of a worker one after the other, on a separate thread, so that the worker answers meanwhile.
class FunctionThread {
 public:
  FunctionThread(const ServerCluster& cluster, const ServerProgram& program, const CoordinatorOptions& options);
  /// Waits for the function that runs.
  ~FunctionThread();
  FunctionThread(const FunctionThread&) = delete;
  FunctionThread& operator=(const FunctionThread&) = delete;

  kj::Promise<Outcome> run(std::string function, std::vector<Tensor> arguments, std::vector<PerWorkerDataset> datasets);

 private:
  class Context;
  void loop();

  const ServerCluster& cluster_;
  const ServerProgram& program_;
  const CoordinatorOptions& options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace etude::coordinator
