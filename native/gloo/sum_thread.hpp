#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "etude/base/collective.hpp"

namespace etude {

/// A thread that computes sums in the order of their starts, while the caller computes something else.
class SumThread {
 public:
  /// `sum` must not throw. The thread begins with the first start().
  explicit SumThread(std::function<void(std::span<const ReplicaSum>)> sum) : sum_(std::move(sum)) {}
  /// Waits for all sums.
  ~SumThread();
  SumThread(const SumThread&) = delete;
  SumThread& operator=(const SumThread&) = delete;

  /// The bucket must not change until await() of its number.
  void start(std::span<const ReplicaSum> bucket, int number);
  /// Waits for the last bucket of this number.
  void await(int number);
  /// Waits for all buckets.
  void await_all();

 private:
  void run();

  std::function<void(std::span<const ReplicaSum>)> sum_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::span<const ReplicaSum>> waiting_;
  std::vector<std::uint64_t> counts_;  ///< by number: started_ after the last start of that number
  std::uint64_t started_ = 0, ended_ = 0;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace etude
