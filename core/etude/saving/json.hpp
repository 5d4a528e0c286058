#pragma once

/// Private to core/saving: no public header includes this, and it is not installed, for nlohmann-json is not part of
/// Étude's face.
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace etude {

/// In the order in which it was written.
using Json = nlohmann::ordered_json;

constexpr std::size_t json_bytes_limit = 100'000'000, json_depth_limit = 64;

/// A JSON text from outside. Throws Error(data) with `path` and the byte where it is wrong: no JSON, invalid UTF-8, a
/// key twice in one object, deeper than 64, longer than 100 MB.
Json parse_json(std::string_view text, const std::string& path);

/// Adds a member of a name that the object does not have yet. Does not look for it: in an object of many members that
/// would take long.
void add_member(Json& object, std::string name, Json value);

/// As text, on one line unless `indent` is positive. Throws Error(data) for text that is not UTF-8.
std::string json_text(const Json& json, int indent = -1);

/// What nlohmann-json has to say, without its own name before it.
std::string reason_of(const std::exception& error);

}  // namespace etude
