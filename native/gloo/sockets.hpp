#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// TCP connections that exchange short messages.
namespace etude::sockets {

using Deadline = std::chrono::steady_clock::time_point;

/// A file descriptor, which is closed at the end.
class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  int get() const { return descriptor_; }
  int release();
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// A host and a port.
struct Address {
  std::string host, port;
};
/// The parts of "host:port" or "[IPv6]:port". None unless both exist, and the port is a number below 65536.
std::optional<Address> parse_address(std::string_view text);

/// Whether only this machine can reach this host: 127.x.x.x, ::1 or localhost.
bool is_loopback(const std::string& host);

/// Throws Error(value) if one of the hosts is not loopback, and the secret has fewer than 16 characters.
void check_secret(std::string_view where, std::string_view secret, std::span<const std::string> hosts);

/// Listens at this address; a socket without descriptor if that is not possible, with the reason.
Socket listen_at(const Address& address, std::string& reason);
/// The port at which a socket listens.
int port_of(const Socket& socket);
/// The next connection that a listening socket has; a socket without descriptor if there is none. If it cannot be
/// accepted, because there are too many open files, this pauses for 100 ms: it stays in the queue, and poll() would
/// return at once.
Socket accept_from(const Socket& listening);
/// Connects, and tries again until the deadline; a socket without descriptor if that is not possible, with the reason.
Socket connect_to(const Address& address, Deadline deadline, std::string& reason);
/// Lets the system end a connection if the other machine acknowledges nothing for the timeout, because it or the
/// network is lost. While there is nothing to send, it probes the other machine every quarter of the timeout, but at
/// most once a second.
void end_if_lost(int descriptor, std::chrono::milliseconds timeout);

/// A message: its kind, and its fields.
struct Message {
  std::uint8_t kind = 0;
  std::vector<std::string> fields;
};
/// The most bytes of a message, and the most fields.
constexpr std::size_t message_limit = 1 << 20, field_limit = 8;
/// The bytes of a message, as `send` sends them.
std::string to_bytes(const Message& message);
/// Sends a message. Returns false if the connection fails, or does not accept it until the deadline.
bool send(const Socket& socket, const Message& message, Deadline deadline);
/// The next message; none if the connection ends, or if there is no valid one until the deadline.
std::optional<Message> receive(const Socket& socket, Deadline deadline);
/// Takes the first message from received bytes, if it is complete. `valid` becomes false if the bytes are no message,
/// or one of more than `limit` bytes, which is known from its first bytes.
std::optional<Message> take_message(std::string& bytes, bool& valid, std::size_t limit = message_limit);

}  // namespace etude::sockets
