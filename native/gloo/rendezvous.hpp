#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gloo/sockets.hpp"

namespace etude {

/// The chief's side: stores values by key for the processes of a cluster, and finds out which of them failed. Each
/// process keeps a connection open until it ends.
class RendezvousServer {
 public:
  /// Serves on a separate thread. Refuses processes that do not know the secret, and those of another size or
  /// generation. A connection that does not greet in time is closed.
  RendezvousServer(sockets::Socket listening, int size, int generation, std::string secret);
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;

  /// After a failure: waits until all processes have asked which one failed, or are gone; at most until the deadline.
  void await_questions(sockets::Deadline deadline);

 private:
  struct Client {
    sockets::Socket socket;
    std::string received;
    std::string nonce;           ///< of this connection
    sockets::Deadline greet_by;  ///< until its rank is known
    int rank = -1;
    std::optional<std::string> wanted;  ///< a key that has no value yet
    bool asks = false;                  ///< which process failed
    bool closed = false;
  };
  /// The state of a process.
  enum class Standing : std::uint8_t { unknown, connected, asked, left, lost };

  void serve();
  void accept();
  void read(Client& client);
  void answer(Client& client, const sockets::Message& message);
  void greet(Client& client, const sockets::Message& message);
  static void refuse(Client& client, std::string reason);
  void close_silent();
  void drop(Client& client);
  void settle();
  std::optional<int> verdict() const;
  static void reply(Client& client, std::uint8_t kind, std::string field);

  sockets::Socket listening_, wake_in_, wake_out_;
  int size_, generation_;
  std::string secret_;
  std::vector<Client> clients_;
  std::map<std::string, std::string> values_;
  std::vector<Standing> standing_;  ///< by rank
  int lost_ = -1;                   ///< the first that ended without a farewell
  std::optional<sockets::Deadline> settle_by_;
  bool stopped_ = false;
  std::mutex mutex_;  ///< guards everything except the sockets' own state
  std::condition_variable changed_;
  std::thread thread_;
};

/// The side of each process, also of the chief. At its end it sends a farewell, unless an exception ends it: then the
/// process has failed.
class RendezvousClient {
 public:
  /// Connects with the server, which must know the secret. Throws CollectiveError if that fails until the deadline, or
  /// if the server refuses; at once if the secrets differ.
  RendezvousClient(const sockets::Address& chief, int rank, int size, int generation, const std::string& secret,
                   sockets::Deadline deadline);
  ~RendezvousClient();
  RendezvousClient(const RendezvousClient&) = delete;
  RendezvousClient& operator=(const RendezvousClient&) = delete;

  void set(const std::string& key, const std::string& value);
  /// The value, as soon as a process has set it. Throws CollectiveError at the deadline, or if a process fails.
  std::string get(const std::string& key, sockets::Deadline deadline);
  /// After a failure: the rank of the process that ended, or that is the only one that does not ask; -1 if that is not
  /// known. 0 if the server does not answer.
  int failed_rank();
  /// The same without a question: -1 if it is not known yet.
  int known_failure();
  /// The rank of a process that has ended without a failure; -1 if all are there.
  int left();
  /// Ends the connection, as if this process had ended: the others know that it has failed.
  void abandon() noexcept;
  /// Calls a function, once and on a separate thread, soon after it is known that a process failed: until then,
  /// operations that do not need that process can end.
  void on_failure(std::function<void()> call);

 private:
  void listen();
  /// The reason why the server does not accept this process; empty if it does.
  std::string greet(int rank, int size, const std::string& secret, sockets::Deadline deadline);
  [[noreturn]] void fail(int peer, const std::string& cause) const;

  sockets::Socket socket_;
  int generation_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::optional<std::string> value_;  ///< the answer to get()
  std::optional<int> failed_;         ///< the rank of a process
  int left_ = -1;                     ///< the rank of a process
  bool ended_ = false;                ///< there are no more messages
  bool stopped_ = false;
  std::function<void()> call_;
  std::thread thread_;
};

}  // namespace etude
