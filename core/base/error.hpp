#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace etude {

/// What went wrong, for callers that branch on it. The text is for people.
enum class ErrorKind { value, shape, dtype, state, data, io, internal };

/// The one exception type of Étude. Its text reads
/// `[where] what came - what was expected - what to do.`
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// Throws an Error whose text is `[where] ` followed by all `parts`, streamed.
template <class... Parts>
[[noreturn]] void fail(ErrorKind kind, std::string_view where, const Parts&... parts) {
  std::ostringstream text;
  text << '[' << where << "] ";
  (text << ... << parts);
  throw Error(kind, text.str());
}

/// Throws as `fail` does unless `ok`; nothing is formatted while all is well.
template <class... Parts>
void check(bool ok, ErrorKind kind, std::string_view where, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail(kind, where, parts...);
}

}  // namespace etude
