#include "gloo/sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "etude/base/error.hpp"

namespace etude::sockets {
namespace {

using std::chrono::steady_clock;

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

/// Waits for an event; false at the deadline.
bool await(int descriptor, short event, Deadline deadline) {
  for (;;) {
    pollfd waiting{descriptor, event, 0};
    const int ready = ::poll(&waiting, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && steady_clock::now() < deadline) continue;
    return false;
  }
}

struct Free {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, Free>;

Addresses resolve(const Address& address, std::string& reason) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  const int failed = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (failed) reason = address.host + ": " + ::gai_strerror(failed);
  return Addresses(failed ? nullptr : found);
}

void close_on_exec(int descriptor) { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

/// A connection to one of the addresses.
Socket try_connect(const addrinfo& to, Deadline deadline, std::string& reason) {
  Socket socket(::socket(to.ai_family, to.ai_socktype, to.ai_protocol));
  if (!socket) return socket;
  close_on_exec(socket.get());
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  int error = 0;
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      socklen_t size = sizeof error;
      if (!await(socket.get(), POLLOUT, deadline))
        error = ETIMEDOUT;
      else
        ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  if (error) {
    reason = std::strerror(error);
    return Socket();
  }
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

void add_number(std::string& bytes, std::size_t number) {
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift & 0xFF);
}

std::size_t number_at(std::string_view bytes) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return number;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
int Socket::release() { return std::exchange(descriptor_, -1); }

std::optional<Address> parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool quoted = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (quoted) host = host.substr(1, host.size() - 2);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (host.empty() || (!quoted && host.find(':') != std::string_view::npos) || error != std::errc() ||
      end != port.data() + port.size() || number > 65535)
    return std::nullopt;
  return Address{std::string(host), std::string(port)};
}

bool is_loopback(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return host == "localhost";
}

void check_secret(std::string_view where, std::string_view secret, std::span<const std::string> hosts) {
  const auto exposed = std::ranges::find_if_not(hosts, is_loopback);
  check(exposed == hosts.end() || secret.size() >= 16, ErrorKind::value, where, "a secret of ", secret.size(),
        " characters with the host ", exposed == hosts.end() ? std::string() : *exposed,
        " - expected 16 or more, unless all addresses are loopback - set ETUDE_SECRET to the same random text in all "
        "processes.");
}

Socket listen_at(const Address& address, std::string& reason) {
  const Addresses found = resolve(address, reason);
  for (const addrinfo* one = found.get(); one; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, one->ai_socktype, one->ai_protocol));
    if (!socket) continue;
    close_on_exec(socket.get());
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 && ::listen(socket.get(), SOMAXCONN) == 0) {
      ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
      return socket;
    }
    reason = std::strerror(errno);
  }
  return Socket();
}

int port_of(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

Socket accept_from(const Socket& listening) {
  constexpr auto pause = std::chrono::milliseconds(100);
  Socket socket(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const bool is_full = !socket && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  if (is_full) std::this_thread::sleep_for(pause);
  return socket;
}

Socket connect_to(const Address& address, Deadline deadline, std::string& reason) {
  constexpr auto pause = std::chrono::milliseconds(20);
  for (;;) {
    const Addresses found = resolve(address, reason);
    for (const addrinfo* one = found.get(); one; one = one->ai_next) {
      const auto left = deadline - steady_clock::now();  // half of it for the addresses after this one
      if (Socket socket = try_connect(*one, one->ai_next ? deadline - left / 2 : deadline, reason)) return socket;
    }
    if (steady_clock::now() + pause >= deadline) return Socket();
    std::this_thread::sleep_for(pause);
  }
}

void end_if_lost(int descriptor, std::chrono::milliseconds timeout) {
  const auto most = static_cast<int>(std::clamp<std::int64_t>(timeout.count(), 1, 1'000'000'000));
  const int on = 1, seconds = std::clamp(most / 4000, 1, 3600);
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &most, sizeof most);
}

std::string to_bytes(const Message& message) {
  std::string body(1, static_cast<char>(message.kind)), bytes;
  for (const std::string& field : message.fields) {
    add_number(body, field.size());
    body += field;
  }
  add_number(bytes, body.size());
  return bytes += body;
}

bool send(const Socket& socket, const Message& message, Deadline deadline) {
  const std::string bytes = to_bytes(message);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count >= 0)
      sent += static_cast<std::size_t>(count);
    else if (errno == EAGAIN ? !await(socket.get(), POLLOUT, deadline) : errno != EINTR)
      return false;
  }
  return true;
}

std::optional<Message> receive(const Socket& socket, Deadline deadline) {
  std::string bytes;
  for (bool valid = true; valid;) {
    if (auto message = take_message(bytes, valid)) return message;
    const std::size_t wanted = bytes.size() < 4 ? 4 - bytes.size() : 4 + number_at(bytes) - bytes.size();
    char chunk[4096];
    const ssize_t count = ::recv(socket.get(), chunk, std::min(wanted, sizeof chunk), 0);
    if (count > 0)
      bytes.append(chunk, static_cast<std::size_t>(count));
    else if (count == 0 || (errno == EAGAIN ? !await(socket.get(), POLLIN, deadline) : errno != EINTR))
      break;
  }
  return std::nullopt;
}

std::optional<Message> take_message(std::string& bytes, bool& valid, std::size_t limit) {
  if (bytes.size() < 4) return std::nullopt;
  const std::size_t size = number_at(bytes);
  valid = size >= 1 && size <= limit;
  if (!valid || bytes.size() < 4 + size) return std::nullopt;
  Message message{static_cast<std::uint8_t>(bytes[4]), {}};
  std::string_view rest = std::string_view(bytes).substr(5, size - 1);
  while (!rest.empty()) {
    const std::size_t field = rest.size() < 4 ? message_limit : number_at(rest);
    valid = rest.size() >= 4 && field <= rest.size() - 4 && message.fields.size() < field_limit;
    if (!valid) return std::nullopt;
    message.fields.emplace_back(rest.substr(4, field));
    rest.remove_prefix(4 + field);
  }
  bytes.erase(0, 4 + size);
  return message;
}

}  // namespace etude::sockets
