#include "etude/saving/detail/json.hpp"

#include <set>
#include <utility>
#include <vector>

#include "etude/base/error.hpp"

namespace etude {

std::string reason_of(const std::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return text.starts_with("[json.") && end != text.npos ? text.substr(end + 2) : text;
}

namespace {

/// Builds a value from the parser's events; the parser prescribes the names of these functions. The parser's own
/// builder searches an object for each member that it adds.
class Builder {
 public:
  explicit Builder(const std::string& path) : path_(path) {}

  Json result;

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t number) { return add(number); }
  bool number_unsigned(std::uint64_t number) { return add(number); }
  bool number_float(double number, const std::string&) { return add(number); }
  bool string(std::string& text) { return add(std::move(text)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) {
    open_.push_back(&place(Json::object()));
    names_.emplace_back();
    return true;
  }
  bool key(std::string& name) {
    check(names_.back().insert(name).second, ErrorKind::data, "json", '"', path_, "\" has the key \"", name,
          "\" twice - expected each once - check its source.");
    name_ = std::move(name);
    return true;
  }
  bool end_object() {
    names_.pop_back();
    return end_array();
  }
  bool start_array(std::size_t) {
    open_.push_back(&place(Json::array()));
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    fail(ErrorKind::data, "json", '"', path_, "\" is not valid JSON: ", reason_of(error),
         " - expected a whole text - check its source.");
  }

 private:
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  Json& place(Json value) {
    check(open_.size() <= json_depth_limit, ErrorKind::data, "json", '"', path_, "\" is nested deeper than ",
          json_depth_limit, " - expected at most that - check its source.");
    if (open_.empty()) return result = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_object()) {
      add_member(parent, std::move(name_), std::move(value));
      return parent.get_ref<Json::object_t&>().back().second;
    }
    parent.push_back(std::move(value));
    return parent.back();
  }

  const std::string& path_;
  std::vector<Json*> open_;
  std::vector<std::set<std::string>> names_;  // of the open objects
  std::string name_;
};

}  // namespace

void check_json_size(std::uint64_t bytes, const std::string& path) {
  check(bytes <= json_bytes_limit, ErrorKind::data, "json", '"', path, "\" has ", bytes, " bytes - expected at most ",
        json_bytes_limit, " - check its source.");
}

Json parse_json(std::string_view text, const std::string& path) {
  check_json_size(text.size(), path);
  Builder builder(path);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder.result);
}

const Json& member_in(const Json& json, const char* name) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(name);
  return found == json.end() ? none : *found;
}

const std::string& text_in(const Json& json, const char* name) {
  static const std::string none;
  const Json& member = member_in(json, name);
  return member.is_string() ? member.get_ref<const std::string&>() : none;
}

void add_member(Json& object, std::string name, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(std::move(name), std::move(value));
}

std::string json_text(const Json& json, int indent) {
  try {
    return json.dump(indent);
  } catch (const Json::exception& error) {
    fail(ErrorKind::data, "json", reason_of(error), " - expected text in UTF-8 - check the names.");
  }
}

void append_text(std::string& text, const JsonExcerpt& excerpt) {
  constexpr std::size_t most = 80;
  append_text(text, excerpt.json.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, most));
}

}  // namespace etude
