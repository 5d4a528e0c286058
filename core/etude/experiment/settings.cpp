#include "etude/experiment/settings.hpp"

#include <cmath>

#include "etude/base/error.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude::experiment {

struct Settings::Content {
  Json json;
  /// The name of the object in errors: "hparams.optimizer".
  std::string where;

  const Json& at(std::string_view name) const {
    const auto found = json.find(name);
    if (found != json.end()) return *found;
    std::string known;
    for (const auto& [key, value] : json.items()) known += (known.empty() ? "\"" : ", \"") + key + '"';
    fail(ErrorKind::value, where, "no value \"", name, "\" - expected one of: ", known.empty() ? "(no values)" : known,
         " - correct the name, or add the value.");
  }
  [[noreturn]] void refuse(std::string_view name, const Json& value, const char* expected) const {
    fail(ErrorKind::value, where, '"', name, "\" = ", value.dump(), " - expected ", expected,
         " - correct the value, or read it by the function of its type.");
  }
};

namespace {

/// The greatest distance from 0 up to which a double holds every integer.
constexpr double exact_integers = 0x1p53;

}  // namespace

Settings::Settings(std::initializer_list<std::pair<std::string, Setting>> values) {
  auto content = std::make_shared<Content>(Content{Json::object(), "settings"});
  for (const auto& [name, value] : values)
    std::visit([&, &key = name](const auto& one) { content->json[key] = one; }, value);
  content_ = std::move(content);
}

Settings Settings::parse(std::string_view json, const std::string& where) {
  Json parsed = parse_json(json, where);
  if (!parsed.is_object())
    fail(ErrorKind::data, where, parsed.dump(), " - expected a JSON object - write values by name.");
  return Settings(std::make_shared<const Content>(Content{std::move(parsed), where}));
}

bool Settings::empty() const { return !content_ || content_->json.empty(); }

bool Settings::contains(std::string_view name) const {
  return content_ && content_->json.find(name) != content_->json.end();
}

std::vector<std::string> Settings::names() const {
  std::vector<std::string> names;
  if (content_)
    for (const auto& [name, value] : content_->json.items()) names.push_back(name);
  return names;
}

double Settings::number(std::string_view name) const {
  const Content& content = values();
  const Json& value = content.at(name);
  if (!value.is_number()) content.refuse(name, value, "a number");
  return value.get<double>();
}

std::int64_t Settings::integer(std::string_view name) const {
  const Content& content = values();
  const Json& value = content.at(name);
  if (value.is_number_integer() && !value.is_number_unsigned()) return value.get<std::int64_t>();
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (!(number == std::floor(number) && std::abs(number) <= exact_integers))
    content.refuse(name, value, "a number without a fraction, of at most 2^53");
  return static_cast<std::int64_t>(number);
}

std::string Settings::text(std::string_view name) const {
  const Content& content = values();
  const Json& value = content.at(name);
  if (!value.is_string()) content.refuse(name, value, "a text");
  return value.get<std::string>();
}

bool Settings::flag(std::string_view name) const {
  const Content& content = values();
  const Json& value = content.at(name);
  if (!value.is_boolean()) content.refuse(name, value, "true or false");
  return value.get<bool>();
}

std::vector<double> Settings::numbers(std::string_view name) const {
  const Content& content = values();
  const Json& value = content.at(name);
  if (!value.is_array()) content.refuse(name, value, "a list of numbers");
  std::vector<double> numbers;
  for (const Json& one : value) {
    if (!one.is_number()) content.refuse(name, value, "a list of numbers");
    numbers.push_back(one.get<double>());
  }
  return numbers;
}

Settings Settings::group(std::string_view name) const {
  const Content& content = values();
  const Json& value = content.at(name);
  if (!value.is_object()) content.refuse(name, value, "an object with values by name");
  return Settings(std::make_shared<const Content>(Content{value, content.where + '.' + std::string(name)}));
}

std::string Settings::json() const { return content_ ? json_text(content_->json) : "{}"; }

const Settings::Content& Settings::values() const {
  static const Content none{Json::object(), "settings"};
  return content_ ? *content_ : none;
}

}  // namespace etude::experiment
