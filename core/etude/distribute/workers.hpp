#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/collective.hpp"
#include "etude/base/error.hpp"

namespace etude {

class Membership;

/// An operation of several processes that failed because one of them ended, or did not take part in time. Afterwards
/// these processes cannot communicate any more: end the program, and start all of them again from a checkpoint.
class CollectiveError : public Error {
 public:
  /// The text names the operation, the process, and `cause`.
  CollectiveError(int peer, std::string_view operation, int generation, std::string_view cause);
  /// The rank of the process that failed; -1 if it is not known.
  int peer() const noexcept { return peer_; }
  /// "all_reduce", "broadcast", "all_gather", or "connect".
  const std::string& operation() const noexcept { return operation_; }
  /// The number of earlier restarts of these processes.
  int generation() const noexcept { return generation_; }

 private:
  int peer_, generation_;
  std::string operation_;
};

/// The processes that train one model, each with a rank from 0 to count() - 1. All of them call the same operations in
/// the same order, each of them on one thread at a time: the order of several threads may differ between processes.
/// Each operation but start() returns when this process has its result. It throws CollectiveError if a process fails,
/// and at the latest after a deadline; for start(), await() throws it.
class Workers : public Collective {
 public:
  /// The rank of this process. Rank 0 is the chief.
  virtual int rank() const = 0;
  /// The number of processes.
  virtual int count() const = 0;
  /// Whether this process is the chief. A process that has not joined the others yet is not the chief.
  virtual bool is_chief() const { return rank() == 0; }
  /// How often these processes have changed. After a change, steps are compiled again.
  virtual int changes() const { return 0; }
  /// How processes leave and join during fit; null if they cannot, or if that fit has ended.
  virtual Membership* membership() { return nullptr; }
  /// Whether these processes may change at all.
  virtual bool elastic() const { return false; }
  bool in_host_memory() const override { return true; }
  /// Sums over the processes. Each Value of `bucket` has one part and one sum, those of this process. All processes get
  /// the same bits, and so do later runs with as many processes.
  void all_reduce(std::span<const ReplicaSum> bucket) override = 0;
  /// Overwrites `memory` by that of rank 0. It has the same size everywhere.
  virtual void broadcast(std::span<std::byte> memory) = 0;
  /// Writes the memory of all processes to `all`, in the order of their ranks. `sizes`: the bytes of each process, the
  /// same list everywhere.
  virtual void all_gather(std::span<const std::byte> own, std::span<const std::size_t> sizes, std::byte* all) = 0;

  /// Called while another library waits for an operation of these processes that began at `began`. Throws
  /// CollectiveError if a process has failed or left, or if the deadline of operations has passed. By default it does
  /// nothing.
  virtual void watch(const char* operation, std::chrono::steady_clock::time_point began) {
    static_cast<void>(operation);
    static_cast<void>(began);
  }
  /// Called after such an operation has failed: throws CollectiveError, and lets later operations fail, also those of
  /// the other processes. It names this process if the failure is its `own`, and else the one that failed, if known.
  virtual void give_up(const char* operation, const std::string& cause, bool own);

  /// A number of each process, in the order of their ranks.
  std::vector<std::int64_t> all_gather(std::int64_t own);
};

}  // namespace etude
