#include "etude/experiment/cluster_info.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/experiment/detail/each_rule.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude::experiment {
namespace {

constexpr const char* where = "cluster_info";

/// The members of a trial's file.
class TrialFile {
 public:
  TrialFile(Json json, const std::string& path) : json_(std::move(json)), path_(path) {
    check(json_.is_object(), ErrorKind::data, where, '"', path_,
          "\" is no JSON object - expected the trial's values by name - check the program that wrote it.");
  }

  /// Null if it is missing, or null in the file.
  const Json* find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  /// An id, which is a text or a number.
  std::string id(const char* name, const std::string& otherwise) const {
    const Json* const value = find(name);
    if (!value) return otherwise;
    if (!value->is_string() && !value->is_number_integer()) refuse(name, *value, "a text or an integer");
    return value->is_string() ? value->get<std::string>() : value->dump();
  }
  std::optional<std::string> text(const char* name) const {
    const Json* const value = find(name);
    if (!value) return {};
    if (!value->is_string()) refuse(name, *value, "a text");
    return value->get<std::string>();
  }
  std::optional<bool> flag(const char* name) const {
    const Json* const value = find(name);
    if (!value) return {};
    if (!value->is_boolean()) refuse(name, *value, "true or false");
    return value->get<bool>();
  }
  std::uint64_t seed(const char* name) const {
    const Json* const value = find(name);
    if (!value) return 0;
    if (!value->is_number_unsigned()) refuse(name, *value, "an integer of 0 or more");
    return value->get<std::uint64_t>();
  }
  Settings settings(const char* name) const {
    const Json* const value = find(name);
    if (!value) return {};
    if (!value->is_object()) refuse(name, *value, "an object with values by name");
    return Settings::parse(json_text(*value), name);
  }
  std::optional<RetentionRules> retention(const char* name) const {
    const Json* const value = find(name);
    if (!value) return {};
    if (!value->is_object()) refuse(name, *value, "an object with rules");
    RetentionRules rules;
    each_rule(rules, [&](const char* rule, int& number) {
      const auto found = value->find(rule);
      if (found == value->end()) return;
      constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
      if (!found->is_number_unsigned() || found->get<std::uint64_t>() > most)
        refuse(rule, *found, "a number of 0 or more");
      number = found->get<int>();
    });
    return rules;
  }
  void require(const char* name) const {
    check(find(name) != nullptr, ErrorKind::data, where, '"', path_, "\" has no \"", name,
          "\" - expected the file of a trial, with trial_id, hparams and storage - check the program that wrote it.");
  }

 private:
  [[noreturn]] void refuse(const char* name, const Json& value, const char* expected) const {
    fail(ErrorKind::data, where, '"', name, "\" = ", value.dump(), " in \"", path_, "\" - expected ", expected,
         " - check the program that wrote it.");
  }

  const Json json_;
  const std::string& path_;
};

/// Reads which of the processes in TF_CONFIG this is. connect_workers() refuses an invalid one.
void add_processes(ClusterInfo& info) {
  const char* const config = std::getenv("TF_CONFIG");
  const Json json = config ? Json::parse(config, nullptr, false) : Json();
  if (!json.is_object()) return;
  std::vector<std::string> addresses;
  std::size_t chiefs = 0;
  const Json cluster = json.value("cluster", Json::object()), task = json.value("task", Json::object());
  for (const char* const kind : {"chief", "worker"}) {
    if (!cluster.is_object() || !cluster.contains(kind) || !cluster[kind].is_array()) continue;
    for (const Json& each : cluster[kind])
      if (each.is_string()) addresses.push_back(each.get<std::string>());
    if (std::string_view(kind) == "chief") chiefs = addresses.size();
  }
  if (addresses.empty() || !task.is_object()) return;
  for (std::string& address : addresses) address.resize(std::min(address.rfind(':'), address.size()));
  info.container_addrs = std::move(addresses);
  const Json type = task.value("type", Json()), index = task.value("index", Json());
  if (index.is_number_unsigned())
    info.container_rank = index.get<int>() + (type == "worker" ? static_cast<int>(chiefs) : 0);
}

bool is_id_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

void check_id(const std::string& id, const char* name) {
  bool sound = !id.empty() && id != "." && id != "..";
  for (const char c : id) sound = sound && is_id_character(c);
  check(sound, ErrorKind::value, "experiment", name, " = \"", id,
        "\" - expected letters, digits, \".\", \"_\" and \"-\" - choose another id.");
}

ClusterInfo cluster_info(const std::shared_ptr<Vfs>& files, const std::string& trial_file) {
  ClusterInfo info;
  add_processes(info);
  const char* const variable = std::getenv(trial_variable);
  const std::string path = trial_file.empty() && variable ? variable : trial_file;
  if (path.empty()) return info;
  const std::shared_ptr<Vfs> chosen = vfs_or_host(files, where);
  check(chosen->kind(path) == PathKind::file, ErrorKind::io, where, trial_file.empty() ? trial_variable : "trial_file",
        " = \"", path, "\", which does not exist - expected the path of the trial's file - ",
        trial_file.empty() ? "unset the variable" : "leave the option out", " to run without one.");
  const std::vector<std::byte> bytes = chosen->read(path);
  const TrialFile file(parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path), path);
  for (const char* const name : {"trial_id", "hparams", "storage"}) file.require(name);
  info.trial = {file.id("trial_id", {}), file.id("experiment_id", "experiment"), file.seed("trial_seed"),
                file.settings("hparams")};
  check_id(info.trial.trial_id, "trial_id");
  info.latest_checkpoint = file.text("latest_checkpoint");
  info.storage = *file.text("storage");
  info.checkpoint_storage = file.text("checkpoint_storage").value_or("");
  info.max_length = file.settings("max_length");
  info.user_data = file.settings("user_data");
  info.metric = file.text("metric");
  info.smaller_is_better = file.flag("smaller_is_better");
  info.retention = file.retention("retention");
  if (info.retention) info.retention->smaller_is_better = info.smaller_is_better.value_or(true);
  info.detached = false;
  return info;
}

}  // namespace etude::experiment
