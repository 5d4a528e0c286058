#include "gloo/membership_client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include "etude/distribute/workers.hpp"
#include "gloo/membership_messages.hpp"
#include "gloo/secret.hpp"

namespace etude {
namespace {

using membership::greeting, membership::number_in, membership::other_secret, membership::sending;
using enum membership::Kind;
using sockets::Message;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string text_of(milliseconds time) { return std::to_string(time.count()); }

}  // namespace

MembershipClient::MembershipClient(const sockets::Address& server, const Cluster& cluster, const WorkerOptions& options,
                                   sockets::Deadline deadline)
    : generation_(cluster.generation) {
  std::string reason = "no connection";
  const std::string where = server.host + ":" + server.port;
  // A process that this one replaces may still be known to the server.
  for (;;) {
    socket_ = sockets::connect_to(server, deadline, reason);
    if (!socket_) fail("no connection to the membership server at " + where + ": " + reason);
    reason = greet(cluster, options, deadline);
    if (reason.empty()) break;
    if (reason == other_secret || steady_clock::now() + milliseconds(50) >= deadline)
      fail("the membership server at " + where + " refuses this process: " + reason);
    std::this_thread::sleep_for(milliseconds(50));
  }
  thread_ = std::thread([this] { listen(); });
}

/// The reason why the server does not accept this process; empty if it does.
std::string MembershipClient::greet(const Cluster& cluster, const WorkerOptions& options, sockets::Deadline deadline) {
  const std::optional<Message> first = sockets::receive(socket_, std::min(deadline, steady_clock::now() + greeting));
  if (!first || first->kind != challenge || first->fields.size() != 1) return "no challenge of a server";
  const std::string& nonce = first->fields[0];
  const std::string own = secret::random_bytes();
  Message greeting_of{hello,
                      {std::to_string(cluster.rank), std::to_string(::getpid()), text_of(options.silence),
                       text_of(options.timeout), own}};
  const std::vector<std::string>& fields = greeting_of.fields;
  greeting_of.fields.push_back(
      secret::proof(cluster.secret, "member", {nonce, fields[0], fields[1], fields[2], fields[3], own}));
  const std::optional<Message> reply =
      sockets::send(socket_, greeting_of, deadline) ? sockets::receive(socket_, deadline) : std::nullopt;
  if (!reply || reply->fields.empty()) return "no answer";
  if (reply->kind == refusal) return reply->fields[0];
  if (reply->kind != welcome || reply->fields.size() != 2 ||
      !secret::equal(reply->fields[0], secret::proof(cluster.secret, "membership", {own, nonce})))
    return other_secret;
  late_ = reply->fields[1] == "1";
  return {};
}

MembershipClient::~MembershipClient() {
  if (std::uncaught_exceptions() == 0) send(farewell, 0);
  ::shutdown(socket_.get(), SHUT_RDWR);  // ends the wait of the thread
  thread_.join();
}

void MembershipClient::listen() {
  std::string received;
  for (bool valid = true; valid;) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    std::array<char, 4096> chunk{};
    const ssize_t count = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) break;
    received.append(chunk.data(), static_cast<std::size_t>(count));
    while (std::optional<Message> message = sockets::take_message(received, valid)) take(*message);
  }
  std::unique_lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
  const std::function<void()> call = call_;
  lock.unlock();
  if (call) call();
}

void MembershipClient::take(const Message& message) {
  const std::vector<std::string>& fields = message.fields;
  if (message.kind == ping) return send(pong, 0);
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex_);
    if (message.kind == group && fields.size() == 4)
      group_ = Group{static_cast<int>(number_in(fields[0])), static_cast<int>(number_in(fields[1])),
                     static_cast<int>(number_in(fields[2])), fields[3]};
    over_ = over_ || message.kind == over;
    if (message.kind == refusal && !fields.empty()) refused_ = fields[0];
    if (message.kind == interrupt && !fields.empty()) {
      interrupted_ = static_cast<int>(number_in(fields[0]));
      if (interrupted_ == watched_) call = call_;
    }
    changed_.notify_all();
  }
  if (call) call();
}

void MembershipClient::on_interrupt(int generation, std::function<void()> call) {
  std::unique_lock lock(mutex_);
  watched_ = generation;
  call_ = call;
  const bool at_once = interrupted_ == generation || ended_;
  lock.unlock();
  if (at_once) call();
}

void MembershipClient::send(std::uint8_t kind, int generation) {
  const std::lock_guard lock(sending_);
  Message message{kind, {}};
  if (kind == membership::ready || kind == membership::done) message.fields.push_back(std::to_string(generation));
  sockets::send(socket_, message, steady_clock::now() + sending);  // listen() notices if the connection has ended
}

void MembershipClient::join() { send(membership::join, 0); }
void MembershipClient::ready(int generation) { send(membership::ready, generation); }
void MembershipClient::done(int generation) { send(membership::done, generation); }

MembershipClient::Group MembershipClient::first(sockets::Deadline deadline) {
  const std::optional<Group> found = next(deadline);
  if (!found) fail("the training has ended");
  return *found;
}

std::optional<MembershipClient::Group> MembershipClient::next(sockets::Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return group_ || over_ || refused_ || ended_; });
  if (group_) return std::exchange(group_, std::nullopt);
  if (over_) return std::nullopt;
  if (refused_) fail(*refused_);
  fail(ended_ ? "the connection to the membership server ended" : "there was no group before the deadline");
}

bool MembershipClient::lost() {
  const std::lock_guard lock(mutex_);
  return ended_ || refused_;
}

void MembershipClient::fail(const std::string& cause) const {
  throw CollectiveError(-1, "connect", generation_, cause);
}

}  // namespace etude
