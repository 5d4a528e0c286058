#pragma once

#include <gloo/rendezvous/context.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gloo/rendezvous.hpp"

namespace etude {

/// Ends the operations of Gloo that wait in this process when it becomes known that a process failed. Gloo itself
/// misses the end of a connection while it writes to it, or reads a part of a message, and then waits until its
/// deadline.
class Alarm {
 public:
  /// Operations that wait, and later ones, throw gloo::IoException.
  void ring();
  bool rang();
  /// Throws if it rang.
  void check();
  void add(gloo::transport::UnboundBuffer* buffer);
  void remove(gloo::transport::UnboundBuffer* buffer);

  /// Runs a function on a separate thread and waits for it, but at most until the deadline, or until the alarm rings:
  /// then the thread goes on alone, and this throws. Otherwise it throws what the function throws.
  static void run(const std::shared_ptr<Alarm>& alarm, std::function<void()> function, sockets::Deadline deadline);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rang_ = false;
  std::vector<gloo::transport::UnboundBuffer*> buffers_;  ///< of operations
};

/// Connections between all processes, whose operations end when an alarm rings.
class GlooMesh : public gloo::rendezvous::Context {
 public:
  GlooMesh(int own_rank, int count, std::shared_ptr<Alarm> alarm);
  /// Connects this process, which is bound to `host`, with all others, and waits until those are connected, too: else
  /// the first message of an operation could come before its connection is complete. `timeout`: for each connection.
  /// Changes the scheduling policy of the calling thread.
  void connect(RendezvousClient& client, const std::string& host, sockets::Deadline deadline,
               std::chrono::milliseconds timeout);

 private:
  std::shared_ptr<Alarm> alarm_;
};

}  // namespace etude
