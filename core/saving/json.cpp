#include "etude/saving/json.hpp"

#include <set>
#include <vector>

#include "etude/base/error.hpp"

namespace etude {

std::string reason_of(const std::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return text.starts_with("[json.") && end != text.npos ? text.substr(end + 2) : text;
}

Json parse_json(std::string_view text, const std::string& path) {
  check(text.size() <= json_bytes_limit, ErrorKind::data, "json", '"', path, "\" has ", text.size(),
        " bytes - expected at most ", json_bytes_limit, " - check where it comes from.");
  std::vector<std::set<std::string>> keys;
  const auto look = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    check(depth <= static_cast<int>(json_depth_limit), ErrorKind::data, "json", '"', path, "\" is nested deeper than ",
          json_depth_limit, " - expected at most that - check where it comes from.");
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      check(keys.back().insert(name).second, ErrorKind::data, "json", '"', path, "\" has the key \"", name,
            "\" twice - expected each once - check where it comes from.");
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), look);
  } catch (const Json::exception& error) {
    fail(ErrorKind::data, "json", '"', path, "\" is no JSON: ", reason_of(error),
         " - expected a whole text - check where it comes from.");
  }
}

std::string json_text(const Json& json, int indent) {
  try {
    return json.dump(indent);
  } catch (const Json::exception& error) {
    fail(ErrorKind::data, "json", reason_of(error), " - expected text in UTF-8 - check the names.");
  }
}

}  // namespace etude
