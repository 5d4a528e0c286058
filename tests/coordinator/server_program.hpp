#pragma once

#include <kj/exception.h>
#include <kj/string.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "etude/optimizers/sgd.hpp"
#include "etude/training/coordinator.hpp"

/// The functions, datasets and optimizer of the processes in tests of the coordinator.
namespace etude::testing {

using std::chrono::milliseconds;

inline std::string text_of(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& tensor : tensors)
    for (std::int64_t i = 0; i < tensor.size(); ++i) append_text(text.empty() ? text : text += ' ', tensor.at(i));
  return text;
}

inline Tensor number(float value) { return Tensor::from<float>({}, {value}); }

/// A failure of the first worker.
inline void fail_first(WorkerContext& worker, int signal) {
  if (worker.index() == 0) ::raise(signal);
}

inline ServerProgram program() {
  ServerProgram result;
  result.functions["twice"] = [](WorkerContext&, const std::vector<Tensor>& arguments) {
    return std::vector{number(static_cast<float>(2 * arguments[0].item()))};
  };
  result.functions["fail"] = [](WorkerContext&, const std::vector<Tensor>&) -> std::vector<Tensor> {
    fail(ErrorKind::data, "fail", "no data - expected some - add some.");
  };
  result.functions["fail in Cap'n Proto"] = [](WorkerContext&, const std::vector<Tensor>&) -> std::vector<Tensor> {
    throw kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__, kj::heapString("the message is too large"));
  };
  result.functions["end soon"] = [](WorkerContext&, const std::vector<Tensor>&) {
    std::thread([] {
      std::this_thread::sleep_for(milliseconds(300));
      ::raise(SIGKILL);
    }).detach();
    return std::vector<Tensor>();
  };
  result.functions["wait"] = [](WorkerContext&, const std::vector<Tensor>&) {
    std::this_thread::sleep_for(milliseconds(600));
    return std::vector<Tensor>();
  };
  result.functions["killed"] = [](WorkerContext& worker, const std::vector<Tensor>&) {
    fail_first(worker, SIGKILL);
    return std::vector{number(static_cast<float>(worker.index()))};
  };
  result.functions["stopped"] = [](WorkerContext& worker, const std::vector<Tensor>&) {
    fail_first(worker, SIGSTOP);
    return std::vector{number(static_cast<float>(worker.index()))};
  };
  result.functions["next"] = [](WorkerContext& worker, const std::vector<Tensor>&) {
    return std::vector{number(static_cast<float>(worker.next("numbers").x[0].item()))};
  };
  result.functions["pull"] = [](WorkerContext& worker, const std::vector<Tensor>&) {
    std::this_thread::sleep_for(milliseconds(100));
    return std::vector{worker.variables().pull({"w"}).at("w")};
  };
  result.functions["push"] = [](WorkerContext& worker, const std::vector<Tensor>& arguments) {
    worker.variables().push({{"w", arguments[0]}, {"b", number(1)}});
    return std::vector<Tensor>();
  };
  result.datasets["numbers"] = {[](const InputContext& context) {
    return Dataset::range(10 * context.input_pipeline_id, 10 * context.input_pipeline_id + 2);
  }};
  result.optimizer = [] { return optimizers::sgd({.learning_rate = 0.5, .momentum = 0.5}); };
  return result;
}

inline constexpr CoordinatorOptions quick{.timeout = milliseconds(1500), .absence = milliseconds(2000)};

}  // namespace etude::testing
