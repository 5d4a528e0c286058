#include "etude/experiment/search/searcher.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <set>

#include "etude/base/error.hpp"
#include "etude/experiment/cluster_info.hpp"
#include "etude/experiment/detail/each_rule.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude::experiment {
namespace {

constexpr const char* where = "search";
constexpr int most_trials = 1'000'000, most_rungs = 64;
constexpr std::int64_t longest_time = std::int64_t{1} << 53;  // a double has all smaller whole numbers
constexpr std::array searchers{"single", "random", "grid", "asha", "adaptive_asha"};
constexpr std::array modes{"conservative", "standard", "aggressive"};

/// The options, each with its name; in both directions.
void each_option(auto& options, const auto& visit) {
  visit("name", options.name);
  visit("metric", options.metric);
  visit("smaller_is_better", options.smaller_is_better);
  visit("time_metric", options.time_metric);
  visit("max_time", options.max_time);
  visit("max_trials", options.max_trials);
  visit("max_concurrent_trials", options.max_concurrent_trials);
  visit("divisor", options.divisor);
  visit("max_rungs", options.max_rungs);
  visit("mode", options.mode);
}

[[noreturn]] void refuse(const char* name, const Json& value, const char* expected) {
  fail(ErrorKind::value, where, '"', name, "\" is ", json_text(value), " - expected ", expected, " - correct it.");
}

void read(const Json& value, const char* name, std::string& field) {
  if (!value.is_string()) refuse(name, value, "a text");
  field = value.get_ref<const std::string&>();
}
void read(const Json& value, const char* name, bool& field) {
  if (!value.is_boolean()) refuse(name, value, "true or false");
  field = value.get<bool>();
}
void read(const Json& value, const char* name, double& field) {
  if (!value.is_number()) refuse(name, value, "a number");
  field = value.get<double>();
}
template <std::integral T> void read(const Json& value, const char* name, T& field) {
  constexpr T most = std::numeric_limits<T>::max();
  const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits) refuse(name, value, "a whole number from 0 on");
  field = static_cast<T>(value.get<std::uint64_t>());
}

/// Throws unless the object has only members of those names.
void check_members(const Json& object, const char* name, const std::set<std::string>& known) {
  check(object.is_object(), ErrorKind::value, where, '"', name, "\" is ", json_text(object),
        " - expected an object - see the guide \"Hyperparameter search\".");
  for (const auto& [member, value] : object.items())
    check(known.contains(member), ErrorKind::value, where, '"', name, "\" has \"", member,
          "\" - expected no such member - check its spelling.");
}

const Json& required(const Json& object, const char* name, const char* parent) {
  const auto found = object.find(name);
  check(found != object.end(), ErrorKind::value, where, '"', parent, "\" has no \"", name,
        "\" - expected it - add it.");
  return *found;
}

SearcherOptions searcher_of(const Json& json) {
  SearcherOptions options;
  std::set<std::string> known;
  each_option(options, [&](const char* name, const auto&) { known.insert(name); });
  check_members(json, "searcher", known);
  each_option(options, [&](const char* name, auto& field) {
    if (const auto found = json.find(name); found != json.end()) read(*found, name, field);
  });
  required(json, "name", "searcher");
  required(json, "metric", "searcher");
  return options;
}

std::optional<RetentionRules> retention_of(const Json& config) {
  const auto found = config.find("checkpoint_storage");
  if (found == config.end()) return {};
  check_members(*found, "checkpoint_storage", {"save_experiment_best", "save_trial_best", "save_trial_latest"});
  RetentionRules rules;
  each_rule(rules, [&](const char* name, auto& field) {
    if (const auto rule = found->find(name); rule != found->end()) read(*rule, name, field);
  });
  return rules;
}

template <std::size_t N>
void check_choice(const char* name, const std::string& value, const std::array<const char*, N>& choices) {
  std::string list;
  for (const char* choice : choices) list += std::string(list.empty() ? "\"" : ", \"") + choice + '"';
  check(std::ranges::find(choices, value) != choices.end(), ErrorKind::value, where, '"', name, "\" is \"", value,
        "\" - expected one of ", list, " - choose one of them.");
}

void check_range(const char* name, double value, double least, double most, const std::string& searcher) {
  check(value >= least && value <= most, ErrorKind::value, where, '"', name, "\" is ", value, " - expected ", least,
        " to ", most, " with the searcher \"", searcher, "\" - set it.");
}

}  // namespace

void check_searcher(const SearcherOptions& searcher, const Hyperparameters& space) {
  const std::string& name = searcher.name;
  check_choice("name", name, searchers);
  check(!searcher.metric.empty(), ErrorKind::value, where,
        "\"metric\" is empty - expected the metric that is compared - set it, such as \"loss\".");
  check(!searcher.time_metric.empty(), ErrorKind::value, where,
        "\"time_metric\" is empty - expected the metric that measures the length of training - set it, such as "
        "\"epochs\".");
  check_range("max_concurrent_trials", searcher.max_concurrent_trials, 0, most_trials, name);
  check_hyperparameters(space, name == "grid");
  if (name == "single" || name == "grid") return;
  check_range("max_trials", searcher.max_trials, 1, most_trials, name);
  if (name == "random") return;
  check_range("max_time", static_cast<double>(searcher.max_time), 1, static_cast<double>(longest_time), name);
  check_range("max_rungs", searcher.max_rungs, 1, most_rungs, name);
  check(std::isfinite(searcher.divisor) && searcher.divisor > 1, ErrorKind::value, where, "\"divisor\" is ",
        searcher.divisor, " - expected a number > 1 - 4 is the default.");
  check_choice("mode", searcher.mode, modes);
}

void check_search_config(const SearchConfig& config) {
  check_id(config.name, "name");
  check(!config.storage.empty(), ErrorKind::value, where, "\"storage\" is empty - expected a folder - name one.");
  check(config.max_restarts >= 0, ErrorKind::value, where, "\"max_restarts\" is ", config.max_restarts,
        " - expected 0 or more - 5 is the default.");
  if (config.retention)
    each_rule(*config.retention, [](const char* name, int rule) {
      check(rule >= 0, ErrorKind::value, where, '"', name, "\" is ", rule, " - expected 0 or more - correct it.");
    });
  check_searcher(config.searcher, config.space);
}

SearchConfig search_config_from_json(std::string_view text) {
  const Json json = parse_json(text, "the config");
  check_members(json, "config",
                {"name", "searcher", "hyperparameters", "max_restarts", "storage", "checkpoint_storage", "seed"});
  SearchConfig config;
  const auto member = [&](const char* name, auto& field) {
    if (const auto found = json.find(name); found != json.end()) read(*found, name, field);
  };
  member("name", config.name);
  member("max_restarts", config.max_restarts);
  member("storage", config.storage);
  member("seed", config.seed);
  config.retention = retention_of(json);
  config.searcher = searcher_of(required(json, "searcher", "config"));
  config.space = hyperparameters_from_json(json_text(required(json, "hyperparameters", "config")));
  check_search_config(config);
  return config;
}

std::string to_json(const SearchConfig& config) {
  Json searcher = Json::object();
  each_option(config.searcher, [&](const char* name, const auto& field) { add_member(searcher, name, field); });
  Json json{{"name", config.name},
            {"searcher", searcher},
            {"hyperparameters", parse_json(to_json(config.space), "hyperparameters")},
            {"max_restarts", config.max_restarts},
            {"storage", config.storage},
            {"seed", config.seed}};
  if (config.retention) json["checkpoint_storage"] = parse_json(to_json(*config.retention), "checkpoint_storage");
  return json_text(json);
}

std::string to_json(const RetentionRules& rules) {
  Json json = Json::object();
  each_rule(rules, [&](const char* name, int rule) { json[name] = rule; });
  return json_text(json);
}

}  // namespace etude::experiment
