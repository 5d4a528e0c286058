#include "gloo/rendezvous.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <exception>
#include <utility>

#include "etude/distribute/workers.hpp"
#include "gloo/secret.hpp"

namespace etude {
namespace {

using sockets::Message;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The kinds of messages.
enum Kind : std::uint8_t {
  hello = 1,
  welcome,
  refusal,
  set_value,
  get_value,
  value,
  question,
  failed,
  farewell,
  challenge,
  departure  ///< the rank of a process that sent a farewell
};

/// The longest that the server waits for questions of other processes before it answers one.
constexpr milliseconds patience{400};
/// How long operations may continue after a process failed.
constexpr milliseconds grace{400};
/// The longest that it takes to send a message, which is short.
constexpr milliseconds sending{2000};
/// The longest that a connection may take to greet, and the most bytes of its greeting.
constexpr milliseconds greeting{5000};
constexpr std::size_t greeting_limit = 512;
constexpr const char* other_secret = "its secret is another one, or there is none";

int number_in(const std::string& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

}  // namespace

RendezvousServer::RendezvousServer(sockets::Socket listening, int size, int generation, std::string secret)
    : listening_(std::move(listening)),
      size_(size),
      generation_(generation),
      secret_(std::move(secret)),
      standing_(static_cast<std::size_t>(size), Standing::unknown) {
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC) == 0, ErrorKind::io, "RendezvousServer",
        "no pipe - expected a free file descriptor - close some files.");
  wake_in_ = sockets::Socket(ends[0]);
  wake_out_ = sockets::Socket(ends[1]);
  thread_ = std::thread([this] { serve(); });
}

RendezvousServer::~RendezvousServer() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_out_ = sockets::Socket();  // ends the wait of the thread
  thread_.join();
  if (std::uncaught_exceptions() > 0) return;
  for (Client& client : clients_)
    if (!client.closed && client.rank >= 0) reply(client, farewell, {});
}

void RendezvousServer::await_questions(sockets::Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] {
    return std::ranges::none_of(standing_, [](Standing one) { return one == Standing::connected; });
  });
}

void RendezvousServer::serve() {
  std::vector<pollfd> waiting;
  for (;;) {
    waiting = {{wake_in_.get(), POLLIN, 0}, {listening_.get(), POLLIN, 0}};
    int timeout = -1;
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
      std::optional<sockets::Deadline> next = settle_by_;
      for (const Client& client : clients_) {
        waiting.push_back({client.socket.get(), POLLIN, 0});
        if (client.rank < 0) next = std::min(next.value_or(client.greet_by), client.greet_by);
      }
      if (next) {
        const auto left = std::chrono::ceil<milliseconds>(*next - steady_clock::now()).count();
        timeout = static_cast<int>(std::max<std::int64_t>(left, 0));
      }
    }
    ::poll(waiting.data(), waiting.size(), timeout);
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    for (std::size_t i = 2; i < waiting.size(); ++i)
      if (waiting[i].revents) read(clients_[i - 2]);
    if (waiting[1].revents) accept();
    close_silent();
    settle();
    std::erase_if(clients_, [](const Client& client) { return client.closed; });
    changed_.notify_all();
  }
}

void RendezvousServer::accept() {
  sockets::Socket socket = sockets::accept_from(listening_);
  if (!socket) return;
  // More connections than processes: some of them are not of this cluster. The oldest that has not greeted makes room.
  if (clients_.size() >= 2 * static_cast<std::size_t>(size_) + 16)
    if (const auto oldest = std::ranges::find(clients_, -1, &Client::rank); oldest != clients_.end())
      clients_.erase(oldest);
  Client& client = clients_.emplace_back();
  client.socket = std::move(socket);
  client.nonce = secret::random_bytes();
  client.greet_by = steady_clock::now() + greeting;
  reply(client, challenge, client.nonce);
}

void RendezvousServer::close_silent() {
  for (Client& client : clients_)
    if (client.rank < 0 && steady_clock::now() >= client.greet_by) client.closed = true;
}

void RendezvousServer::read(Client& client) {
  std::array<char, 4096> chunk{};
  const ssize_t count = ::recv(client.socket.get(), chunk.data(), chunk.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return drop(client);
  client.received.append(chunk.data(), static_cast<std::size_t>(count));
  bool valid = true;
  while (!client.closed) {
    const std::size_t limit = client.rank < 0 ? greeting_limit : sockets::message_limit;
    const std::optional<Message> message = sockets::take_message(client.received, valid, limit);
    if (!valid) return drop(client);
    if (!message) return;
    answer(client, *message);
  }
}

void RendezvousServer::drop(Client& client) {
  client.closed = true;
  if (client.rank < 0) return;
  Standing& standing = standing_[static_cast<std::size_t>(client.rank)];
  if (standing == Standing::asked || standing == Standing::left) return;
  standing = Standing::lost;
  if (lost_ >= 0) return;
  lost_ = client.rank;
  // All know it at once, even if this process ends before they ask.
  for (Client& other : clients_)
    if (!other.closed && other.rank >= 0) reply(other, failed, std::to_string(lost_));
}

void RendezvousServer::reply(Client& client, std::uint8_t kind, std::string field) {
  if (!sockets::send(client.socket, {kind, {std::move(field)}}, steady_clock::now() + sending)) client.closed = true;
}

void RendezvousServer::answer(Client& client, const Message& message) {
  const std::vector<std::string>& fields = message.fields;
  if (client.rank < 0) return greet(client, message);
  if (message.kind == set_value && fields.size() == 2) {
    values_[fields[0]] = fields[1];
  } else if (message.kind == get_value && fields.size() == 1) {
    client.wanted = fields[0];
  } else if (message.kind == question) {
    client.asks = true;
    standing_[static_cast<std::size_t>(client.rank)] = Standing::asked;
    if (!settle_by_) settle_by_ = steady_clock::now() + patience;
  } else if (message.kind == farewell) {
    standing_[static_cast<std::size_t>(client.rank)] = Standing::left;
    client.closed = true;
    const Message left{departure, {std::to_string(client.rank)}};
    for (Client& other : clients_)  // if that fails for one, read() notices its end
      if (!other.closed && other.rank >= 0) sockets::send(other.socket, left, steady_clock::now() + sending);
  } else {
    drop(client);
  }
}

void RendezvousServer::refuse(Client& client, std::string reason) {
  reply(client, refusal, std::move(reason));
  client.closed = true;
}

/// The first message of a process names its rank, and proves that it knows the secret.
void RendezvousServer::greet(Client& client, const Message& message) {
  const std::vector<std::string>& fields = message.fields;
  if (message.kind != hello || fields.size() != 5) return drop(client);
  const std::string expected =
      secret::proof(secret_, "worker", {client.nonce, fields[0], fields[1], fields[2], fields[3]});
  if (!secret::equal(fields[4], expected)) return refuse(client, other_secret);
  const int rank = number_in(fields[0]), size = number_in(fields[1]), generation = number_in(fields[2]);
  std::string reason;
  if (size != size_)
    reason = "the chief expects " + std::to_string(size_) + " processes, this one " + std::to_string(size);
  else if (generation != generation_)
    reason = "generation " + std::to_string(generation) + ", the chief's is " + std::to_string(generation_);
  else if (rank < 0 || rank >= size_)
    reason = "rank " + std::to_string(rank) + " of " + std::to_string(size_);
  else if (standing_[static_cast<std::size_t>(rank)] != Standing::unknown)
    reason = "another process has rank " + std::to_string(rank);
  if (!reason.empty()) return refuse(client, std::move(reason));
  client.rank = rank;
  standing_[static_cast<std::size_t>(rank)] = Standing::connected;
  reply(client, welcome, secret::proof(secret_, "chief", {fields[3], client.nonce}));
}

/// Answers all requests that can be answered now.
void RendezvousServer::settle() {
  for (Client& client : clients_) {
    if (client.closed || !client.wanted) continue;
    const auto found = values_.find(*client.wanted);
    if (found == values_.end() && lost_ < 0) continue;
    client.wanted.reset();
    found != values_.end() ? reply(client, value, found->second) : reply(client, failed, std::to_string(lost_));
  }
  const bool asked = std::ranges::any_of(clients_, [](const Client& client) { return client.asks && !client.closed; });
  const std::optional<int> rank = asked ? verdict() : std::nullopt;
  if (!asked) settle_by_.reset();
  if (!rank) return;
  // Those that did not ask may wait in vain, too.
  for (Client& client : clients_) {
    if (client.rank >= 0 && !client.closed) reply(client, failed, std::to_string(*rank));
    client.asks = false;
  }
  settle_by_.reset();
}

/// The process that failed; none before that is known.
std::optional<int> RendezvousServer::verdict() const {
  if (lost_ >= 0) return lost_;
  const auto silent = std::ranges::count_if(standing_, [](Standing one) { return one != Standing::asked; });
  if (silent > 1 && steady_clock::now() < *settle_by_) return std::nullopt;
  const auto first = std::ranges::find_if(standing_, [](Standing one) { return one != Standing::asked; });
  return first == standing_.end() ? -1 : static_cast<int>(first - standing_.begin());
}

RendezvousClient::RendezvousClient(const sockets::Address& chief, int rank, int size, int generation,
                                   const std::string& secret, sockets::Deadline deadline)
    : generation_(generation) {
  std::string reason = "no connection";
  const std::string where = chief.host + ":" + chief.port;
  // The chief may not listen yet, or still serve an earlier generation.
  for (;;) {
    socket_ = sockets::connect_to(chief, deadline, reason);
    if (!socket_) fail(0, "no connection to " + where + ": " + reason);
    reason = greet(rank, size, secret, deadline);
    if (reason.empty()) break;
    if (reason == other_secret || steady_clock::now() + milliseconds(50) >= deadline)
      fail(0, where + " refuses this process: " + reason);
    std::this_thread::sleep_for(milliseconds(50));
  }
  thread_ = std::thread([this] { listen(); });
}

std::string RendezvousClient::greet(int rank, int size, const std::string& secret, sockets::Deadline deadline) {
  const std::optional<Message> first = sockets::receive(socket_, std::min(deadline, steady_clock::now() + greeting));
  if (!first || first->kind != challenge || first->fields.size() != 1) return "no challenge of a chief";
  const std::string& nonce = first->fields[0];
  const std::string own = secret::random_bytes();
  Message greeting{hello, {std::to_string(rank), std::to_string(size), std::to_string(generation_), own}};
  const std::vector<std::string>& fields = greeting.fields;
  // However slow this process is: if the chief has accepted it, to connect again would look like its end.
  greeting.fields.push_back(secret::proof(secret, "worker", {nonce, fields[0], fields[1], fields[2], own}));
  const std::optional<Message> reply =
      sockets::send(socket_, greeting, deadline) ? sockets::receive(socket_, deadline) : std::nullopt;
  if (!reply || reply->fields.size() != 1) return "no answer";
  if (reply->kind == refusal) return reply->fields[0];
  const bool known =
      reply->kind == welcome && secret::equal(reply->fields[0], secret::proof(secret, "chief", {own, nonce}));
  return known ? std::string() : other_secret;
}

RendezvousClient::~RendezvousClient() {
  if (std::uncaught_exceptions() == 0) sockets::send(socket_, {farewell, {}}, steady_clock::now() + sending);
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  ::shutdown(socket_.get(), SHUT_RDWR);  // ends the wait of the thread
  thread_.join();
}

/// Receives until the server ends, or a process has failed.
void RendezvousClient::listen() {
  std::string received;
  bool valid = true, server_left = false;
  std::unique_lock lock(mutex_);
  while (valid && !failed_) {
    lock.unlock();
    pollfd waiting{socket_.get(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    std::array<char, 4096> chunk{};
    const ssize_t count = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
    const bool again = count < 0 && (errno == EAGAIN || errno == EINTR);
    lock.lock();
    if (again) continue;
    if (count <= 0) break;
    received.append(chunk.data(), static_cast<std::size_t>(count));
    while (std::optional<Message> message = sockets::take_message(received, valid)) {
      if (message->kind == value && message->fields.size() == 1) value_ = std::move(message->fields[0]);
      if (message->kind == failed && message->fields.size() == 1 && !failed_) failed_ = number_in(message->fields[0]);
      if (message->kind == departure && message->fields.size() == 1) left_ = number_in(message->fields[0]);
      if (message->kind == farewell) left_ = 0;
      server_left = server_left || message->kind == farewell;
    }
    changed_.notify_all();
  }
  ended_ = true;
  if (!server_left && !failed_) failed_ = 0;
  changed_.notify_all();
  if (!failed_) return;
  changed_.wait_for(lock, grace, [this] { return stopped_; });
  changed_.wait(lock, [this] { return stopped_ || call_; });
  if (stopped_) return;
  const std::function<void()> call = call_;
  lock.unlock();
  call();
}

void RendezvousClient::on_failure(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  call_ = std::move(call);
  changed_.notify_all();
}

void RendezvousClient::set(const std::string& key, const std::string& value) {
  if (!sockets::send(socket_, {set_value, {key, value}}, steady_clock::now() + sending))
    fail(failed_rank(), "the connection to the chief ended");
}

std::string RendezvousClient::get(const std::string& key, sockets::Deadline deadline) {
  sockets::send(socket_, {get_value, {key}}, deadline);  // listen() notices if the connection has ended
  std::unique_lock lock(mutex_);
  const bool answered = changed_.wait_until(lock, deadline, [this] { return value_ || failed_ || ended_; });
  if (value_) return *std::exchange(value_, std::nullopt);
  if (failed_) fail(*failed_, "its connection ended");
  lock.unlock();
  if (!answered) fail(failed_rank(), "no answer before the deadline");
  fail(0, "the connection to the chief ended");
}

int RendezvousClient::failed_rank() {
  const auto deadline = steady_clock::now() + milliseconds(800);
  sockets::send(socket_, {question, {}}, deadline);
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return failed_ || ended_; });
  return failed_.value_or(0);
}

int RendezvousClient::known_failure() {
  const std::lock_guard lock(mutex_);
  return failed_.value_or(-1);
}

int RendezvousClient::left() {
  const std::lock_guard lock(mutex_);
  return left_;
}

void RendezvousClient::abandon() noexcept { ::shutdown(socket_.get(), SHUT_RDWR); }

void RendezvousClient::fail(int peer, const std::string& cause) const {
  throw CollectiveError(peer, "connect", generation_, cause);
}

}  // namespace etude
