#include "etude/experiment/search/space.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <set>
#include <utility>

#include "etude/base/detail/number.hpp"
#include "etude/base/error.hpp"
#include "etude/base/random.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude::experiment {
namespace {

using Kind = Hyperparameter::Kind;

constexpr const char* where = "search";
constexpr double whole_numbers = 0x1p53;  // a double has all smaller ones
constexpr double largest_exponent = 700;  // of e; a double ends at 709
constexpr std::int64_t most_points = 1'000'000;

std::string quoted(const std::string& path) { return "hyperparameter \"" + path + '"'; }

/// base to the power of `exponent`, by operations whose bits are the same on all targets, unlike std::pow. 12 digits
/// hide the error of about 1e-13, so that 10 to the power of -3 is 0.001.
double power(double base, double exponent) {
  using std::numbers::ln2;
  int twos = 0;
  double rest = std::frexp(base, &twos);
  if (rest < std::numbers::sqrt2 / 2) {
    rest *= 2;
    --twos;
  }
  // log((1 + t) / (1 - t)) = 2 (t + t^3 / 3 + t^5 / 5 + ..), |t| < 0.18
  const double t = (rest - 1) / (rest + 1);
  double series = 0;
  for (int n = 25; n >= 1; n -= 2) series = series * t * t + 1.0 / n;
  const double natural = exponent * (twos * ln2 + 2 * t * series);
  const double whole = std::round(natural / ln2), small = natural - whole * ln2;
  double result = 1;
  for (int n = 18; n >= 1; --n) result = 1 + small / n * result;
  return *parse_double(formatted("%.11e", std::ldexp(result, static_cast<int>(whole))));
}

Json number_of(const Hyperparameter& h, double number) {
  if (h.kind == Kind::integer) return static_cast<std::int64_t>(std::round(number));
  return h.kind == Kind::log ? power(h.base, number) : number;
}

Json json_of(const HyperparameterValue& value) { return parse_json(value.json(), "a hyperparameter"); }

/// An object with `draw` of each hyperparameter that is not nested.
template <class Draw> Json built(const Hyperparameters& space, const Draw& draw) {
  Json result = Json::object();
  for (const auto& [name, h] : space)
    add_member(result, name, h.kind == Kind::nested ? built(h.members, draw) : draw(h));
  return result;
}

/// In [0, 1), 53 bits.
double uniform(const std::array<std::uint32_t, 4>& bits) {
  return static_cast<double>((std::uint64_t{bits[0]} << 32 | bits[1]) >> 11) * 0x1p-53;
}

Json sampled(const Hyperparameter& h, double draw) {
  switch (h.kind) {
    case Kind::integer: return number_of(h, h.minval + std::floor(draw * (h.maxval - h.minval + 1)));
    case Kind::real:
    case Kind::log: return number_of(h, h.minval + draw * (h.maxval - h.minval));
    default: return json_of(h.values.at(static_cast<std::size_t>(draw * static_cast<double>(h.values.size()))));
  }
}

/// The number of values on the axis of a grid.
std::int64_t axis_size(const Hyperparameter& h) {
  if (h.kind == Kind::constant || h.kind == Kind::categorical) return static_cast<std::int64_t>(h.values.size());
  const std::int64_t count = h.count.value_or(0);
  if (h.kind != Kind::integer) return count;
  return std::min(count, static_cast<std::int64_t>(h.maxval - h.minval) + 1);
}

Json on_axis(const Hyperparameter& h, std::int64_t index) {
  if (h.kind == Kind::constant || h.kind == Kind::categorical)
    return json_of(h.values.at(static_cast<std::size_t>(index)));
  const std::int64_t size = axis_size(h);
  if (size == 1) return number_of(h, (h.minval + h.maxval) / 2);
  return number_of(h, h.minval + static_cast<double>(index) * (h.maxval - h.minval) / static_cast<double>(size - 1));
}

void for_each_leaf(const Hyperparameters& space, const std::function<void(const Hyperparameter&)>& visit) {
  for (const auto& [name, h] : space)
    if (h.kind == Kind::nested)
      for_each_leaf(h.members, visit);
    else
      visit(h);
}

// ---- checks ----

void check_range(const Hyperparameter& h, const std::string& path, bool counts) {
  check(
      std::isfinite(h.minval) && std::isfinite(h.maxval) && h.minval <= h.maxval && std::isfinite(h.maxval - h.minval),
      ErrorKind::value, where, quoted(path), " from ", h.minval, " to ", h.maxval,
      " - expected \"minval\" <= \"maxval\" - correct the range.");
  const auto whole = [](double x) { return std::round(x) == x && std::abs(x) <= whole_numbers / 2; };
  check(h.kind != Kind::integer || (whole(h.minval) && whole(h.maxval)), ErrorKind::value, where, quoted(path),
        " from ", h.minval, " to ", h.maxval, " - expected whole numbers - write them, or use the type \"double\".");
  check(h.kind != Kind::log || (std::isfinite(h.base) && h.base > 1 &&
                                std::max(std::abs(h.minval), std::abs(h.maxval)) * std::log(h.base) < largest_exponent),
        ErrorKind::value, where, quoted(path), " has the base ", h.base, " and exponents from ", h.minval, " to ",
        h.maxval, " - expected a base > 1 and powers that are finite - \"minval\" and \"maxval\" are exponents.");
  check(!h.count || *h.count >= 1, ErrorKind::value, where, quoted(path), " has the count ", h.count.value_or(0),
        " - expected 1 or more - set \"count\".");
  check(!counts || h.count, ErrorKind::value, where, quoted(path),
        " has no \"count\" - expected one in a grid search - set it, or use the type \"categorical\".");
}

void check_at(const Hyperparameters& space, const std::string& prefix, bool counts) {
  std::set<std::string> names;
  for (const auto& [name, h] : space) {
    const std::string path = prefix + name;
    check(names.insert(name).second, ErrorKind::value, where, quoted(path),
          " occurs twice - expected each once - rename one.");
    if (h.kind == Kind::nested)
      check_at(h.members, path + '.', counts);
    else if (h.kind == Kind::constant || h.kind == Kind::categorical)
      check(!h.values.empty(), ErrorKind::value, where, quoted(path),
            " has no values - expected at least one - add it.");
    else
      check_range(h, path, counts);
  }
}

// ---- JSON ----

/// The members of the description of a hyperparameter; each must be read.
class Description {
 public:
  Description(const Json& json, const std::string& path) : json_(json), path_(path) {}

  const Json* find(const char* name) {
    known_.insert(name);
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }
  const Json& at(const char* name) {
    const Json* found = find(name);
    check(found != nullptr, ErrorKind::value, where, quoted(path_), " has no \"", name, "\" - expected it - add it.");
    return *found;
  }
  static double number(const Json& value, const char* name, const std::string& path) {
    check(value.is_number(), ErrorKind::value, where, quoted(path), " has \"", name, "\" = ", json_text(value),
          " - expected a number - correct it.");
    return value.get<double>();
  }
  void read_range(Hyperparameter& h) {
    h.minval = number(at("minval"), "minval", path_);
    h.maxval = number(at("maxval"), "maxval", path_);
    const Json* count = find("count");
    if (!count) return;
    check(count->is_number_integer() && *count >= 1 && *count <= most_points, ErrorKind::value, where, quoted(path_),
          " has \"count\" = ", json_text(*count), " - expected a whole number from 1 to ", most_points,
          " - correct it.");
    h.count = count->get<int>();
  }
  void end() const {
    for (const auto& [name, value] : json_.items())
      check(known_.contains(name), ErrorKind::value, where, quoted(path_), " has \"", name,
            "\" - expected no such member with the type \"", json_.at("type").get_ref<const std::string&>(),
            "\" - remove it.");
  }

 private:
  const Json& json_;
  const std::string& path_;
  std::set<std::string> known_{"type"};
};

Hyperparameters space_of(const Json& json, const std::string& prefix);

Hyperparameter read(const Json& json, const std::string& path) {
  if (!json.is_object()) return hyperparameters::constant(HyperparameterValue::of_json(json_text(json)));
  const auto type = json.find("type");
  if (type == json.end() || !type->is_string()) return hyperparameters::nested(space_of(json, path + '.'));
  const std::string& name = type->get_ref<const std::string&>();
  Description description(json, path);
  Hyperparameter h;
  if (name == "const") {
    h.values = {HyperparameterValue::of_json(json_text(description.at("val")))};
  } else if (name == "int" || name == "double" || name == "log") {
    h.kind = name == "int" ? Kind::integer : name == "double" ? Kind::real : Kind::log;
    description.read_range(h);
    if (h.kind == Kind::log)
      if (const Json* base = description.find("base")) h.base = Description::number(*base, "base", path);
  } else if (name == "categorical") {
    h.kind = Kind::categorical;
    const Json& values = description.at("vals");
    check(values.is_array(), ErrorKind::value, where, quoted(path), " has \"vals\" = ", json_text(values),
          " - expected a list - correct it.");
    for (const Json& value : values) h.values.push_back(HyperparameterValue::of_json(json_text(value)));
  } else {
    fail(ErrorKind::value, where, quoted(path), " has the type \"", name,
         "\" - expected \"const\", \"int\", \"double\", \"log\" or \"categorical\" - choose one of them.");
  }
  description.end();
  return h;
}

Hyperparameters space_of(const Json& json, const std::string& prefix) {
  Hyperparameters space;
  for (const auto& [name, value] : json.items()) space.push_back({name, read(value, prefix + name)});
  return space;
}

Json described(const Hyperparameter& h) {
  if (h.kind == Kind::constant) return {{"type", "const"}, {"val", json_of(h.values.at(0))}};
  if (h.kind == Kind::categorical) {
    Json values = Json::array();
    for (const HyperparameterValue& value : h.values) values.push_back(json_of(value));
    return {{"type", "categorical"}, {"vals", std::move(values)}};
  }
  const char* type = h.kind == Kind::integer ? "int" : h.kind == Kind::real ? "double" : "log";
  Json range{{"type", type}, {"minval", h.minval}, {"maxval", h.maxval}};
  if (h.kind == Kind::log) range["base"] = h.base;
  if (h.count) range["count"] = *h.count;
  return range;
}

}  // namespace

HyperparameterValue::HyperparameterValue(double value) : json_(json_text(Json(value))) {
  check(std::isfinite(value), ErrorKind::value, where, "a hyperparameter has the value ", value,
        " - expected a finite number - JSON has no others.");
}
HyperparameterValue::HyperparameterValue(const std::string& value) : json_(json_text(Json(value))) {}

HyperparameterValue HyperparameterValue::of_json(std::string_view text) {
  HyperparameterValue result(false);
  result.json_ = json_text(parse_json(text, "a hyperparameter"));
  return result;
}

namespace hyperparameters {

Hyperparameter constant(HyperparameterValue value) { return {.values = {std::move(value)}, .members = {}}; }
Hyperparameter integer(std::int64_t minval, std::int64_t maxval, std::optional<int> count) {
  return {.kind = Kind::integer,
          .minval = static_cast<double>(minval),
          .maxval = static_cast<double>(maxval),
          .count = count,
          .members = {}};
}
Hyperparameter real(double minval, double maxval, std::optional<int> count) {
  return {.kind = Kind::real, .minval = minval, .maxval = maxval, .count = count, .members = {}};
}
Hyperparameter log(double minval, double maxval, double base, std::optional<int> count) {
  return {.kind = Kind::log, .minval = minval, .maxval = maxval, .base = base, .count = count, .members = {}};
}
Hyperparameter categorical(std::vector<HyperparameterValue> values) {
  return {.kind = Kind::categorical, .values = std::move(values), .members = {}};
}
Hyperparameter nested(Hyperparameters members) { return {.kind = Kind::nested, .members = std::move(members)}; }

}  // namespace hyperparameters

Hyperparameters hyperparameters_from_json(std::string_view text) {
  const Json json = parse_json(text, "hyperparameters");
  check(json.is_object(), ErrorKind::value, where, "\"hyperparameters\" is ", json_text(json),
        " - expected an object - write {\"rate\": ..}.");
  Hyperparameters space = space_of(json, "");
  check_hyperparameters(space);
  return space;
}

std::string to_json(const Hyperparameters& space) { return json_text(built(space, described)); }

void check_hyperparameters(const Hyperparameters& space, bool counts) {
  check_at(space, "", counts);
  if (counts) grid_size(space);
}

std::string sample_hyperparameters(const Hyperparameters& space, std::uint64_t seed, int trial) {
  std::uint32_t place = 0;
  return json_text(built(space, [&](const Hyperparameter& h) {
    const std::array<std::uint32_t, 4> counter{place++, static_cast<std::uint32_t>(trial), 0,
                                               static_cast<std::uint32_t>(RandomStream::search)};
    return sampled(h, uniform(philox(seed, counter)));
  }));
}

std::int64_t grid_size(const Hyperparameters& space) {
  std::int64_t size = 1;
  for_each_leaf(space, [&](const Hyperparameter& h) {
    const std::int64_t axis = axis_size(h);
    check(axis == 0 || size <= most_points / axis, ErrorKind::value, where, "a grid of more than ", most_points,
          " points - expected fewer - reduce \"count\", or use the searcher \"random\".");
    size *= axis;
  });
  return size;
}

std::string grid_point(const Hyperparameters& space, std::int64_t index) {
  std::int64_t points = grid_size(space);
  return json_text(built(space, [&](const Hyperparameter& h) {
    const std::int64_t size = axis_size(h);
    points /= size;
    return on_axis(h, index / points % size);
  }));
}

}  // namespace etude::experiment
