#include "etude/experiment/search/detail/trial_folder.hpp"

#include <cstdint>

#include "etude/base/error.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude::experiment {
namespace {

/// The serial number of a checkpoint; 0 for a folder without a complete description.
std::uint64_t serial_of(Vfs& files, const std::string& path) {
  if (files.kind(path) != PathKind::file) return 0;
  const std::vector<std::byte> bytes = files.read(path);
  try {
    const Json json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
    const auto found = json.is_object() ? json.find("serial") : json.end();
    return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  } catch (const Error&) {
    return 0;  // it is damaged
  }
}

}  // namespace

std::string trial_folder(const std::string& storage, int trial) { return storage + "/trial_" + std::to_string(trial); }

std::optional<std::string> latest_checkpoint(Vfs& files, const std::string& folder) {
  std::optional<std::string> latest;
  std::uint64_t highest = 0;
  const std::string checkpoints = folder + "/checkpoints";
  if (files.kind(checkpoints) != PathKind::folder) return latest;
  for (const std::string& name : files.list(checkpoints)) {
    if (name.starts_with('.')) continue;  // not complete
    const std::uint64_t serial = serial_of(files, checkpoints + '/' + name + "/metadata.json");
    if (serial <= highest) continue;
    highest = serial;
    latest = name;
  }
  return latest;
}

std::string write_trial_file(Vfs& files, const std::string& folder, const SearchConfig& config,
                             const SearchOperation& creation, int restarts) {
  const std::optional<std::string> checkpoint = latest_checkpoint(files, folder);
  const SearcherOptions& searcher = config.searcher;
  Json json{{"trial_id", std::to_string(creation.trial)},
            {"experiment_id", config.name},
            {"trial_seed", creation.trial_seed},
            {"hparams", parse_json(creation.hparams, "hyperparameters")},
            {"storage", folder},
            {"latest_checkpoint", nullptr},
            {"restarts", restarts},
            {"metric", searcher.metric},
            {"smaller_is_better", searcher.smaller_is_better}};
  if (checkpoint) json["latest_checkpoint"] = *checkpoint;
  if (config.retention) json["retention"] = parse_json(to_json(*config.retention), "retention");
  if (searcher.max_time > 0) json["max_length"] = {{searcher.time_metric, searcher.max_time}};
  std::string path = folder + "/trial.json";
  files.replace(path, {json_text(json, 2), "\n"});
  return path;
}

}  // namespace etude::experiment
