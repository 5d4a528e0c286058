#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "etude/distribute/cluster.hpp"
#include "gloo/sockets.hpp"

namespace etude {

/// A process's side of the membership server. A separate thread answers pings.
class MembershipClient {
 public:
  /// A group of processes, and the port of its rendezvous at the server's host.
  struct Group {
    int generation = 0, rank = 0, size = 1;
    std::string port = {};
  };

  /// Connects with the server, which must know the secret. Throws CollectiveError if that fails until the deadline, or
  /// if the server refuses.
  MembershipClient(const sockets::Address& server, const Cluster& cluster, const WorkerOptions& options,
                   sockets::Deadline deadline);
  ~MembershipClient();
  MembershipClient(const MembershipClient&) = delete;
  MembershipClient& operator=(const MembershipClient&) = delete;

  /// Whether the others had begun before this process connected.
  bool late() const { return late_; }
  /// The first group of all processes. Throws CollectiveError at the deadline.
  Group first(sockets::Deadline deadline);
  /// Asks to join those that train.
  void join();
  /// Reports that the group of this generation has failed.
  void ready(int generation);
  /// Reports that this process has ended its fit, as a member of this generation.
  void done(int generation);
  /// After one of these three: the next group; none if the training has ended. Throws CollectiveError at the deadline,
  /// or if there will be no group for this process.
  std::optional<Group> next(sockets::Deadline deadline);
  /// Calls a function, on a separate thread, when the group of this generation is interrupted, or the server is lost.
  void on_interrupt(int generation, std::function<void()> call);
  /// Whether this process can get no group any more.
  bool lost();

 private:
  std::string greet(const Cluster& cluster, const WorkerOptions& options, sockets::Deadline deadline);
  void listen();
  void take(const sockets::Message& message);
  void send(std::uint8_t kind, int generation);
  [[noreturn]] void fail(const std::string& cause) const;

  sockets::Socket socket_;
  int generation_ = 0;  ///< of this process's program, in errors
  bool late_ = false;
  std::mutex mutex_, sending_;  ///< the first guards what follows
  std::condition_variable changed_;
  std::optional<Group> group_;
  std::optional<std::string> refused_;
  bool over_ = false, ended_ = false;
  int interrupted_ = -1, watched_ = -1;  ///< generations
  std::function<void()> call_;
  std::thread thread_;
};

}  // namespace etude
