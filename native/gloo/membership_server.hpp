#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gloo/rendezvous.hpp"
#include "gloo/sockets.hpp"

namespace etude {

struct MembershipOptions {
  /// The number of processes with which training begins.
  int size = 1;
  /// The text by which the processes recognize each other.
  std::string secret = {};
  /// The address at which it serves the rendezvous of each group, on a free port.
  std::string host = "127.0.0.1";
  /// Receives the id of a process that was removed, because it is silent. It should end that process.
  std::function<void(pid_t)> removed = {};
  /// Called when the training has ended: after that, the processes do not change.
  std::function<void()> ended = {};
};

/// Decides which processes train together. It is a process of its own, so that any of them may fail. Each process keeps
/// a connection open, whose end is the end of the process, and answers pings. When processes of a group fail, or others
/// wait to join, the server interrupts the group, waits until all that are left are ready, and forms the next one:
/// those that are left, in the order of their ranks, then those that wait.
class MembershipServer {
 public:
  MembershipServer(sockets::Socket listening, MembershipOptions options);
  /// Serves forever.
  [[noreturn]] void serve();

 private:
  enum class Standing : std::uint8_t { unknown, fresh, late, waiting, member, ready, done };
  struct Peer {
    sockets::Socket socket;
    std::string received, nonce;
    sockets::Deadline greet_by;
    Standing standing = Standing::unknown;
    int rank = -1;  ///< of its cluster; then in the current group
    pid_t process = 0;
    std::chrono::milliseconds silence{}, timeout{};
    std::optional<sockets::Deadline> asked = {};  ///< when the first ping was sent that it has not answered
    bool closed = false;
  };
  enum class Phase : std::uint8_t {
    gathering,  ///< It waits for the first processes.
    training,   ///< A group trains.
    reforming,  ///< The group was interrupted.
    over        ///< The training has ended.
  };

  void accept();
  void read(Peer& peer);
  void answer(Peer& peer, const sockets::Message& message);
  void greet(Peer& peer, const sockets::Message& message);
  void drop(Peer& peer);
  void remove(Peer& peer);
  void tick();
  /// Interrupts the group.
  void reform();
  /// Forms a group, or ends the training, as soon as that is possible.
  void settle();
  void form(std::vector<Peer*> peers);
  void end();
  std::vector<Peer*> peers(std::initializer_list<Standing> standings);
  static void send(Peer& peer, std::uint8_t kind, std::vector<std::string> fields = {});

  sockets::Socket listening_;
  MembershipOptions options_;
  std::vector<std::unique_ptr<Peer>> peers_;  ///< in the order of their arrival
  Phase phase_ = Phase::gathering;
  int generation_ = 0;
  sockets::Deadline reform_by_, ping_at_;
  std::unique_ptr<RendezvousServer> rendezvous_;  ///< of the current group
};

}  // namespace etude
