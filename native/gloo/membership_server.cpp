#include "gloo/membership_server.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <utility>

#include "etude/base/error.hpp"
#include "gloo/membership_messages.hpp"
#include "gloo/secret.hpp"

namespace etude {
namespace {

using membership::greeting, membership::greeting_limit, membership::number_in, membership::other_secret,
    membership::sending;
using enum membership::Kind;
using sockets::Message;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds between_pings{250};
constexpr milliseconds longest_wait = std::chrono::years(1);  // so that sums with times do not overflow
constexpr const char* all_ended = "all processes that trained have ended";

}  // namespace

MembershipServer::MembershipServer(sockets::Socket listening, MembershipOptions options)
    : listening_(std::move(listening)), options_(std::move(options)), ping_at_(steady_clock::now()) {}

void MembershipServer::serve() {
  for (std::vector<pollfd> waiting;;) {
    waiting = {{listening_.get(), POLLIN, 0}};
    for (const auto& peer : peers_) waiting.push_back({peer->socket.get(), POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), static_cast<int>(between_pings.count()));
    for (std::size_t i = 1; i < waiting.size(); ++i)
      if (waiting[i].revents && !peers_[i - 1]->closed) read(*peers_[i - 1]);
    if (waiting.front().revents) accept();
    tick();
    settle();
    std::erase_if(peers_, [](const auto& peer) { return peer->closed; });
  }
}

void MembershipServer::accept() {
  sockets::Socket socket = sockets::accept_from(listening_);
  if (!socket) return;
  // Too many that have not greeted: some of them are not of this training. The oldest makes room.
  if (peers_.size() >= 2 * static_cast<std::size_t>(options_.size) + 16)
    if (const auto unknown = peers({Standing::unknown}); !unknown.empty()) unknown.front()->closed = true;
  Peer& peer = *peers_.emplace_back(std::make_unique<Peer>());
  peer.socket = std::move(socket);
  peer.nonce = secret::random_bytes();
  peer.greet_by = steady_clock::now() + greeting;
  send(peer, challenge, {peer.nonce});
}

void MembershipServer::read(Peer& peer) {
  std::array<char, 4096> chunk{};
  const ssize_t count = ::recv(peer.socket.get(), chunk.data(), chunk.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return drop(peer);
  peer.received.append(chunk.data(), static_cast<std::size_t>(count));
  for (bool valid = true; !peer.closed;) {
    const std::optional<Message> message = sockets::take_message(peer.received, valid, greeting_limit);
    if (!valid) return drop(peer);
    if (!message) return;
    answer(peer, *message);
  }
}

void MembershipServer::send(Peer& peer, std::uint8_t kind, std::vector<std::string> fields) {
  // If it fails, the connection has ended, which read() notices.
  sockets::send(peer.socket, {kind, std::move(fields)}, steady_clock::now() + sending);
}

void MembershipServer::answer(Peer& peer, const Message& message) {
  if (peer.standing == Standing::unknown) return greet(peer, message);
  const bool current = message.fields.size() == 1 && number_in(message.fields[0]) == generation_;
  const Standing standing = peer.standing;
  const bool member = standing == Standing::member, waits = standing == Standing::late || standing == Standing::waiting;
  // A process repeats its request if it waited for longer than its own timeout.
  const bool in_group = member || standing == Standing::done || standing == Standing::ready;
  if (message.kind == pong) return peer.asked.reset();
  if (message.kind == join && waits) {
    if (phase_ == Phase::over) return send(peer, over);
    if (phase_ == Phase::gathering) return send(peer, refusal, {all_ended});
    peer.standing = Standing::waiting;
    reform();
  } else if (message.kind == ready && in_group) {
    // A process that has ended its fit sends it, too, if the others did not answer in time. The answer may cross it.
    if (phase_ == Phase::over) return send(peer, over);
    if (!current) return;
    peer.standing = Standing::ready;
    reform();
  } else if (message.kind == done && member && current) {
    peer.standing = Standing::done;
  } else if (message.kind == farewell) {
    peer.closed = true;  // those that still need it notice
  } else {
    drop(peer);
  }
}

/// The first message of a process proves that it knows the secret.
void MembershipServer::greet(Peer& peer, const Message& message) {
  const std::vector<std::string>& fields = message.fields;
  if (message.kind != hello || fields.size() != 6) return drop(peer);
  const std::string expected =
      secret::proof(options_.secret, "member", {peer.nonce, fields[0], fields[1], fields[2], fields[3], fields[4]});
  std::string reason;
  peer.rank = static_cast<int>(number_in(fields[0]));
  if (!secret::equal(fields[5], expected))
    reason = other_secret;
  else if (peer.rank < 0 || peer.rank >= options_.size)
    reason = "rank " + fields[0] + " of " + std::to_string(options_.size);
  else if (number_in(fields[2]) < 1 || number_in(fields[3]) < 1)
    reason = "silence of " + fields[2] + " ms and timeout of " + fields[3] + " ms, which must be 1 or more";
  else if (std::ranges::any_of(peers({Standing::fresh}), [&](const Peer* one) { return one->rank == peer.rank; }))
    reason = "another process has rank " + fields[0];
  if (!reason.empty()) {
    send(peer, refusal, {reason});
    peer.closed = true;
    return;
  }
  peer.process = static_cast<pid_t>(number_in(fields[1]));
  peer.silence = std::min(milliseconds(number_in(fields[2])), longest_wait);
  peer.timeout = std::min(milliseconds(number_in(fields[3])), longest_wait);
  const bool late = phase_ != Phase::gathering;
  peer.standing = late ? Standing::late : Standing::fresh;
  send(peer, welcome, {secret::proof(options_.secret, "membership", {fields[4], peer.nonce}), late ? "1" : "0"});
}

void MembershipServer::drop(Peer& peer) {
  peer.closed = true;
  const bool in_group =
      peer.standing == Standing::member || peer.standing == Standing::ready || peer.standing == Standing::done;
  if (in_group) reform();
}

void MembershipServer::remove(Peer& peer) {
  if (options_.removed) options_.removed(peer.process);
  drop(peer);
}

void MembershipServer::tick() {
  const auto now = steady_clock::now();
  for (Peer* peer : peers({Standing::unknown}))
    if (now >= peer->greet_by) peer->closed = true;
  if (now < ping_at_) return;
  ping_at_ = now + between_pings;
  // Also after the end of the training: a process that is stopped then would not end.
  for (Peer* peer :
       peers({Standing::fresh, Standing::late, Standing::waiting, Standing::member, Standing::ready, Standing::done})) {
    if (peer->asked && now - *peer->asked > peer->silence) {
      remove(*peer);
      continue;
    }
    if (!peer->asked) peer->asked = now;
    send(*peer, ping);
  }
  if (phase_ != Phase::reforming || now < reform_by_) return;
  for (Peer* peer : peers({Standing::member})) remove(*peer);
}

std::vector<MembershipServer::Peer*> MembershipServer::peers(std::initializer_list<Standing> standings) {
  std::vector<Peer*> found;
  for (const auto& peer : peers_)
    if (!peer->closed && std::ranges::find(standings, peer->standing) != standings.end()) found.push_back(peer.get());
  return found;
}

void MembershipServer::reform() {
  if (phase_ != Phase::training) return;
  phase_ = Phase::reforming;
  milliseconds longest{0};
  for (Peer* peer : peers({Standing::member, Standing::ready, Standing::done})) {
    longest = std::max(longest, peer->timeout);
    if (peer->standing == Standing::member) send(*peer, interrupt, {std::to_string(generation_)});
  }
  reform_by_ = steady_clock::now() + longest;
}

void MembershipServer::settle() {
  if (phase_ == Phase::gathering) {
    const std::vector<Peer*> all = peers({Standing::fresh});
    if (std::ssize(all) == options_.size) form(all);
    return;
  }
  if (phase_ == Phase::over) return;
  const std::vector<Peer*> working = peers({Standing::member}), rest = peers({Standing::ready, Standing::done});
  if (!working.empty()) return;
  if (!rest.empty()) return phase_ == Phase::training ? end() : form(rest);
  // No process has the state any more: training begins again, with processes that are started after this.
  for (Peer* peer : peers({Standing::waiting})) {
    send(*peer, refusal, {all_ended});
    peer->standing = Standing::late;
  }
  rendezvous_.reset();
  phase_ = Phase::gathering;
}

void MembershipServer::form(std::vector<Peer*> group_peers) {
  std::string reason;
  sockets::Socket listening = sockets::listen_at({options_.host, "0"}, reason);
  if (!listening) return;  // the next tick tries again
  std::ranges::stable_sort(group_peers, {}, &Peer::rank);
  for (Peer* peer : peers({Standing::waiting})) group_peers.push_back(peer);
  ++generation_;
  const std::string generation = std::to_string(generation_), size = std::to_string(group_peers.size()),
                    port = std::to_string(sockets::port_of(listening));
  rendezvous_ = std::make_unique<RendezvousServer>(std::move(listening), static_cast<int>(group_peers.size()),
                                                   generation_, options_.secret);
  phase_ = Phase::training;
  int rank = 0;
  for (Peer* peer : group_peers) {
    peer->rank = rank++;
    peer->standing = Standing::member;
    send(*peer, group, {generation, std::to_string(peer->rank), size, port});
  }
}

/// All processes of the group have ended their fit.
void MembershipServer::end() {
  phase_ = Phase::over;
  if (options_.ended) options_.ended();
  for (Peer* peer : peers({Standing::done, Standing::waiting})) send(*peer, over);
}

}  // namespace etude
