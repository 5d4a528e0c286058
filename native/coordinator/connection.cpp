#include "coordinator/connection.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <thread>

#include "gloo/secret.hpp"

namespace etude {

namespace {

std::string unavailable(std::string_view task, int index, std::string_view cause) {
  std::string text = "[coordinator] ";
  text.append(task).append(index < 0 ? "s" : " " + std::to_string(index)).append(" unavailable (").append(cause);
  return text += task == "ps"
                     ? ") - expected all parameter servers - start all processes again from the last checkpoint."
                     : ") - expected the process to answer - start it again.";
}

}  // namespace

UnavailableError::UnavailableError(std::string_view task, int index, std::string_view cause)
    : Error(ErrorKind::state, unavailable(task, index, cause)), task_(task), index_(index) {}

namespace coordinator {
namespace {

/// The version of the messages, which processes of different versions of Étude would read wrongly.
constexpr const char* protocol = "2";

using sockets::Message;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

enum Kind : std::uint8_t { challenge = 1, hello, welcome, refusal };
constexpr std::size_t greeting_limit = 512;
constexpr const char* other_secret = "its secret is another one, or there is none";

void refuse(const char* what) {
  throw kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__, kj::heapString(what));
}

/// The bytes that the accepting side has read.
struct Greeting {
  kj::AsyncIoStream& stream;
  std::string nonce = secret::random_bytes();
  std::string bytes = {}, reply = {};
};

kj::Promise<void> write(Greeting& greeting, const Message& message) {
  greeting.reply = sockets::to_bytes(message);
  return greeting.stream.write(greeting.reply.data(), greeting.reply.size());
}

/// Reads until there is a message.
kj::Promise<Message> read_message(Greeting& greeting) {
  bool valid = true;
  if (auto message = sockets::take_message(greeting.bytes, valid, greeting_limit)) return std::move(*message);
  if (!valid) refuse("not a greeting");
  const std::size_t before = greeting.bytes.size();
  greeting.bytes.resize(before + greeting_limit);
  return greeting.stream.tryRead(greeting.bytes.data() + before, 1, greeting_limit)
      .then([&greeting, before](std::size_t count) -> kj::Promise<Message> {
        if (count == 0) refuse("the connection ended");
        greeting.bytes.resize(before + count);
        return read_message(greeting);
      });
}

schema::Task::Client task_of(capnp::RpcSystem<capnp::rpc::twoparty::VatId>& system) {
  capnp::MallocMessageBuilder message;
  auto server = message.initRoot<capnp::rpc::twoparty::VatId>();
  server.setSide(capnp::rpc::twoparty::Side::SERVER);
  return system.bootstrap(server).castAs<schema::Task>();
}

}  // namespace

capnp::ReaderOptions reader_options() {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = std::uint64_t{1} << 31;
  return options;
}

void check_cluster(const ServerCluster& cluster, std::string_view where) {
  std::vector<std::string> hosts;
  for (const auto* addresses : {&cluster.workers, &cluster.servers})
    for (const std::string& text : *addresses) {
      const auto address = sockets::parse_address(text);
      check(address.has_value(), ErrorKind::value, where, '"', text,
            "\" as address - expected \"host:port\" - correct the cluster.");
      hosts.push_back(address->host);
    }
  check(!cluster.workers.empty(), ErrorKind::value, where,
        "a cluster without workers - expected at least one - add its address.");
  sockets::check_secret(where, cluster.secret, hosts);
}

sockets::Address address_of(const ServerCluster& cluster, const Peer& peer) {
  const std::vector<std::string>& addresses = peer.task == "ps" ? cluster.servers : cluster.workers;
  return *sockets::parse_address(addresses[static_cast<std::size_t>(peer.index)]);
}

kj::Promise<Peer> greet(kj::AsyncIoStream& stream, const ServerCluster& cluster) {
  auto own = kj::heap<Greeting>(Greeting{stream});
  Greeting& greeting = *own;
  return write(greeting, {challenge, {greeting.nonce}})
      .then([&greeting] { return read_message(greeting); })
      .then([&greeting, &cluster](Message message) -> kj::Promise<Peer> {
        const std::vector<std::string>& fields = message.fields;
        if (message.kind != hello || fields.size() != 6) refuse("not a greeting");
        const std::string to = cluster.task + " " + std::to_string(cluster.index);
        const char* reason = nullptr;
        if (!secret::equal(fields[5],
                           secret::proof(cluster.secret, "client",
                                         {greeting.nonce, fields[0], fields[1], fields[2], fields[3], fields[4]})))
          reason = other_secret;
        else if (fields[2] != to)
          reason = "it is another process of the cluster";
        else if (fields[4] != protocol)
          reason = "it has another version of Étude";
        Peer peer{fields[0], 0};
        std::from_chars(fields[1].data(), fields[1].data() + fields[1].size(), peer.index);
        const Message reply =
            reason ? Message{refusal, {reason}}
                   : Message{welcome, {secret::proof(cluster.secret, "server", {fields[3], greeting.nonce})}};
        return write(greeting, reply).then([reason, peer]() -> Peer {
          if (reason) refuse(reason);
          return peer;
        });
      })
      .attach(kj::mv(own));
}

kj::Own<kj::AsyncIoStream> Connection::connect(const ServerCluster& cluster, sockets::Deadline deadline) const {
  const sockets::Address address = address_of(cluster, to_);
  std::string reason = "no connection";
  for (;;) {
    sockets::Socket socket = sockets::connect_to(address, deadline, reason);
    if (!socket) throw UnavailableError(to_.task, to_.index, reason);
    const sockets::Deadline soon = std::min(deadline, steady_clock::now() + greeting_time);
    const auto first = sockets::receive(socket, soon);
    if (first && first->kind == challenge && first->fields.size() == 1) {
      const std::string own = secret::random_bytes();
      Message greeting{
          hello,
          {cluster.task, std::to_string(cluster.index), to_.task + " " + std::to_string(to_.index), own, protocol}};
      const auto& fields = greeting.fields;
      greeting.fields.push_back(secret::proof(
          cluster.secret, "client", {first->fields[0], fields[0], fields[1], fields[2], fields[3], fields[4]}));
      const auto reply = sockets::send(socket, greeting, soon) ? sockets::receive(socket, soon) : std::nullopt;
      if (reply && reply->fields.size() == 1) {
        if (reply->kind == refusal) throw UnavailableError(to_.task, to_.index, reply->fields[0]);
        if (reply->kind != welcome ||
            !secret::equal(reply->fields[0], secret::proof(cluster.secret, "server", {own, first->fields[0]})))
          throw UnavailableError(to_.task, to_.index, other_secret);
        sockets::end_if_lost(socket.get(), timeout_);
        using Flags = kj::LowLevelAsyncIoProvider::Flags;
        return io_.lowLevelProvider->wrapSocketFd(socket.release(), static_cast<kj::uint>(Flags::TAKE_OWNERSHIP) |
                                                                        Flags::ALREADY_CLOEXEC |
                                                                        Flags::ALREADY_NONBLOCK);
      }
    }
    if (steady_clock::now() + milliseconds(50) >= deadline)
      throw UnavailableError(to_.task, to_.index, "no answer to a greeting");
    std::this_thread::sleep_for(milliseconds(50));
  }
}

Connection::Connection(kj::AsyncIoContext& io, const ServerCluster& cluster, Peer to, milliseconds timeout,
                       sockets::Deadline deadline)
    : io_(io),
      to_(std::move(to)),
      timeout_(std::max(timeout, milliseconds(4))),
      stream_(connect(cluster, deadline)),
      network_(*stream_, capnp::rpc::twoparty::Side::CLIENT, reader_options()),
      system_(capnp::makeRpcClient(network_)),
      task_(task_of(system_)),
      end_(network_.onDisconnect()) {}

void Connection::refuse(const kj::Exception& exception) const {
  const std::string text = exception.getDescription().cStr();
  const kj::Exception::Type type = exception.getType();
  if (type == kj::Exception::Type::FAILED || type == kj::Exception::Type::UNIMPLEMENTED)
    throw Error(ErrorKind::state, text);
  throw UnavailableError(to_.task, to_.index,
                         type == kj::Exception::Type::OVERLOADED ? "it does not answer" : "its connection ended");
}

}  // namespace coordinator
}  // namespace etude
