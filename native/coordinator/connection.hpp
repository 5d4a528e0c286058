#pragma once

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/messages.hpp"
#include "etude/training/coordinator.hpp"
#include "gloo/sockets.hpp"

/// The connections between the processes of a cluster. Before Cap'n Proto reads from one, both sides prove that they
/// know the secret.
namespace etude::coordinator {

/// A process of a cluster.
struct Peer {
  std::string task;
  int index = 0;
};

/// Where a server of the cluster listens. Throws Error(value) for a cluster that is not valid, and for addresses beyond
/// loopback without a secret.
sockets::Address address_of(const ServerCluster& cluster, const Peer& peer);
void check_cluster(const ServerCluster& cluster, std::string_view where);

/// The most that a side reads of one message, in words of 8 bytes: 16 GiB.
capnp::ReaderOptions reader_options();
constexpr std::chrono::milliseconds greeting_time{5000};

inline kj::Duration duration_of(std::chrono::milliseconds time) { return time.count() * kj::MILLISECONDS; }

/// The side that was connected to: the peer, if it proves that it knows the secret, and wants this process.
kj::Promise<Peer> greet(kj::AsyncIoStream& stream, const ServerCluster& cluster);

/// The side that connects: calls of one thread, on its event loop.
class Connection {
 public:
  /// Throws UnavailableError if it does not succeed until the deadline; at once if the secrets differ.
  Connection(kj::AsyncIoContext& io, const ServerCluster& cluster, Peer to, std::chrono::milliseconds timeout,
             sockets::Deadline deadline);
  schema::Task::Client& task() { return task_; }
  const Peer& peer() const { return to_; }
  /// Whether the process has not ended the connection, as far as this machine knows.
  bool connected() { return !end_.poll(io_.waitScope); }

  /// The response to a call that was sent. Throws UnavailableError if the connection ends, or if the process does not
  /// answer for the timeout; it may compute longer. Throws Error(state) with the text of an exception there.
  template <class Response> Response await(kj::Promise<Response> call) {
    try {
      return call.exclusiveJoin(alive<Response>()).wait(io_.waitScope);
    } catch (const kj::Exception& exception) {
      refuse(exception);
    }
  }
  /// The same, with the failure that the response may contain.
  template <class Response> Response checked(kj::Promise<Response> call) {
    Response response = await(kj::mv(call));
    if (response.hasFailure()) rethrow(read(response.getFailure()));
    return response;
  }

 private:
  [[noreturn]] void refuse(const kj::Exception& exception) const;
  /// Never succeeds; fails as soon as the process is silent.
  template <class Response> kj::Promise<Response> alive() {
    kj::Timer& timer = io_.provider->getTimer();
    return timer.afterDelay(duration_of(timeout_ / 4))
        .then([this, &timer] {
          return timer.timeoutAfter(duration_of(timeout_ * 3 / 4), task_.pingRequest().send().ignoreResult());
        })
        .then([this] { return alive<Response>(); });
  }
  kj::Own<kj::AsyncIoStream> connect(const ServerCluster& cluster, sockets::Deadline deadline) const;

  kj::AsyncIoContext& io_;
  Peer to_;
  std::chrono::milliseconds timeout_;
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> system_;
  schema::Task::Client task_;
  kj::Promise<void> end_;
};

}  // namespace etude::coordinator
