#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

/// The messages between a membership server and the processes of a training. After its challenge and hello, a process
/// sends a request, and the server answers when it has decided.
namespace etude::membership {

enum Kind : std::uint8_t {
  // of the server
  challenge = 1,  ///< a random number
  welcome,        ///< a proof; whether the process is late
  refusal,        ///< a reason
  ping,           ///< which must be answered
  interrupt,      ///< a generation: its operations fail
  group,          ///< generation, rank, size, and the port of the rendezvous
  over,           ///< The training has ended.
  // of a process
  hello,    ///< rank, process id, silence and timeout in milliseconds, a random number, a proof
  pong,     ///< the answer to a ping
  join,     ///< It waits for a group. It was late.
  ready,    ///< a generation that failed: It waits for the next group.
  done,     ///< a generation: It has ended its fit.
  farewell  ///< It ends, without failure.
};

/// The number in a text; -1 if there is none.
inline std::int64_t number_in(const std::string& text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

/// The longest that it takes to send a message, which is short.
constexpr std::chrono::milliseconds sending{2000};
/// The longest that a connection may take to greet, and the most bytes of its greeting.
constexpr std::chrono::milliseconds greeting{5000};
constexpr std::size_t greeting_limit = 512;
constexpr const char* other_secret = "its secret is another one, or there is none";

}  // namespace etude::membership
