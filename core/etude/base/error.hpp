#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace etude {

/// The kind of an error, for callers that branch on it. The text is for the user.
enum class ErrorKind { value, shape, dtype, state, data, io, internal };

/// The one exception type of Étude. Its text reads
/// `[where] what came - what was expected - what to do.`
class Error : public std::runtime_error {
 public:
  /// An error of that kind with the complete text.
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  /// The kind of the error.
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// Appends a part of an error's text: a text, a number (floating-point numbers in six digits), or an object with a name
/// or a `to_string`. It uses no stream: a stream with its locales is larger than all of Étude's layers.
void append_text(std::string& text, char part);
void append_text(std::string& text, std::string_view part);
void append_text(std::string& text, double part);
void append_text(std::string& text, std::int64_t part);
void append_text(std::string& text, std::uint64_t part);
template <std::integral T> void append_text(std::string& text, T part) {
  using Widest = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  append_text(text, static_cast<Widest>(part));
}
/// For types with a to_string.
template <class T>
  requires requires(const T& part) { part.to_string(); }
void append_text(std::string& text, const T& part) {
  append_text(text, std::string_view(part.to_string()));
}
/// For types with a name.
template <class T>
  requires requires(const T& part) { name_of(part); }
void append_text(std::string& text, const T& part) {
  append_text(text, name_of(part));
}

/// A part of a text that is formatted only on failure. It has two words, an object and its formatter, so that a check
/// that succeeds costs little.
class TextPart {
 public:
  TextPart(const char* literal) : part_(literal), append_(append_literal) {}
  template <class T>
    requires(!std::is_array_v<T>)
  TextPart(const T& part) : part_(&part), append_(append<T>) {}

  void append_to(std::string& text) const { append_(text, part_); }

 private:
  static void append_literal(std::string& text, const void* part);
  template <class T> static void append(std::string& text, const void* part) {
    append_text(text, *static_cast<const T*>(part));
  }

  const void* part_;
  void (*append_)(std::string&, const void*);
};

/// Throws for `fail` and `check`.
[[noreturn]] void throw_error(ErrorKind kind, std::string_view where, std::initializer_list<TextPart> parts);

/// Throws an Error whose text is `[where] ` followed by all `parts`.
template <class... Parts>
[[noreturn, gnu::always_inline]] inline void fail(ErrorKind kind, std::string_view where, const Parts&... parts) {
  throw_error(kind, where, {TextPart(parts)...});
}

/// Throws as `fail` does unless `ok`. Nothing is formatted on success.
template <class... Parts>
[[gnu::always_inline]] inline void check(bool ok, ErrorKind kind, std::string_view where, const Parts&... parts) {
  if (!ok) [[unlikely]]
    throw_error(kind, where, {TextPart(parts)...});
}

}  // namespace etude
