#pragma once

/// Private to core/saving: no public header includes this, and it is not installed, because nlohmann-json is not part
/// of Étude's interface.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace etude {

/// Keeps members in the order in which they were written.
using Json = nlohmann::ordered_json;

constexpr std::size_t json_bytes_limit = 100'000'000, json_depth_limit = 64;

/// Throws Error(data) for more bytes of JSON than parse_json() takes: before the text at `path` is read.
void check_json_size(std::uint64_t bytes, const std::string& path);

/// Parses untrusted JSON text. Throws Error(data) with `path` and the byte of the error: invalid JSON or UTF-8, a
/// duplicate key in an object, nesting deeper than 64, or more than 100 MB.
Json parse_json(std::string_view text, const std::string& path);

/// The member of that name: null if there is none, or if `json` is no object.
const Json& member_in(const Json& json, const char* name);
/// The text of that member: empty if it is no string.
const std::string& text_in(const Json& json, const char* name);

/// Adds a member whose name the object does not have yet. Does not check this: in an object of many members the search
/// would take long.
void add_member(Json& object, std::string name, Json value);

/// JSON as text, on one line unless `indent` is positive. Throws Error(data) for strings that are not UTF-8.
std::string json_text(const Json& json, int indent = -1);

/// The beginning of a JSON value in the text of an Error, which is formatted when that is thrown.
struct JsonExcerpt {
  const Json& json;
};
void append_text(std::string& text, const JsonExcerpt& excerpt);

/// The message of nlohmann-json without its prefix.
std::string reason_of(const std::exception& error);

}  // namespace etude
