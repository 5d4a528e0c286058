#include "etude/experiment/checkpoint_context.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "etude/base/detail/clock.hpp"
#include "etude/base/detail/heap_sort.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude::experiment {
namespace {

constexpr const char* where = "checkpoint";
constexpr const char* description_name = "/metadata.json";
constexpr std::size_t uuid_size = 36;

/// A random UUID, version 4.
std::string new_uuid() {
  std::random_device random;
  std::string uuid;
  constexpr const char* digits = "0123456789abcdef";
  for (std::size_t i = 0; i < uuid_size; ++i) {
    const unsigned digit = random() & 15U;
    if (i == 8 || i == 13 || i == 18 || i == 23)
      uuid += '-';
    else
      uuid += digits[i == 14 ? 4 : i == 19 ? (digit & 3U) | 8U : digit];
  }
  return uuid;
}

/// Whether a name in the storage is that of a complete checkpoint.
bool is_uuid(const std::string& name) {
  return name.size() == uuid_size &&
         std::ranges::all_of(name, [](char c) { return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<double> number_of(std::optional<double> score) {
  return score && std::isfinite(*score) ? score : std::nullopt;
}

StoredCheckpoint read_description(Vfs& files, const std::string& folder, const std::string& uuid) {
  const std::string path = folder + '/' + uuid + description_name;
  check(files.kind(path) == PathKind::file, ErrorKind::data, where, '"', path,
        "\" is missing - expected one in every checkpoint - remove the folder.");
  const std::vector<std::byte> bytes = files.read(path);
  const Json json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
  StoredCheckpoint checkpoint{.uuid = uuid};
  try {
    checkpoint.trial_id = json.at("trial_id").get<std::string>();
    checkpoint.experiment_id = json.at("experiment_id").get<std::string>();
    checkpoint.serial = json.at("serial").get<std::uint64_t>();
    if (!json.at("score").is_null()) checkpoint.score = json.at("score").get<double>();
    checkpoint.metadata = Settings::parse(json_text(json.at("metadata")), "metadata");
  } catch (const Json::exception& error) {
    fail(ErrorKind::data, where, '"', path, "\" is no description of a checkpoint: ", reason_of(error),
         " - expected the file that store_path() makes - remove the folder.");
  }
  return checkpoint;
}

/// Keeps the first `count` of some checkpoints.
void keep_first(const std::vector<const StoredCheckpoint*>& checkpoints, int count, std::vector<bool>& kept,
                const StoredCheckpoint* first) {
  for (std::size_t i = 0; i < checkpoints.size() && i < static_cast<std::size_t>(count); ++i)
    kept[static_cast<std::size_t>(checkpoints[i] - first)] = true;
}

/// Removes checkpoints: each gets a name of an unfinished one first, so that none loses only some of its files.
void remove_all(Vfs& files, const std::string& folder, const std::vector<StoredCheckpoint>& removed) {
  for (const StoredCheckpoint& checkpoint : removed) {
    const std::string path = folder + "/.tmp-" + checkpoint.trial_id + '-' + checkpoint.uuid;
    files.rename(folder + '/' + checkpoint.uuid, path);
    files.remove_tree(path);
  }
}

}  // namespace

std::vector<std::string> kept_checkpoints(const std::vector<StoredCheckpoint>& checkpoints,
                                          const RetentionRules& rules) {
  check(rules.save_experiment_best >= 0 && rules.save_trial_best >= 0 && rules.save_trial_latest >= 0, ErrorKind::value,
        where, "save_experiment_best = ", rules.save_experiment_best, ", save_trial_best = ", rules.save_trial_best,
        ", save_trial_latest = ", rules.save_trial_latest, " - expected numbers of 0 or more - change them.");
  const auto better = [&](const StoredCheckpoint* a, const StoredCheckpoint* b) {
    if (*a->score != *b->score) return (*a->score < *b->score) == rules.smaller_is_better;
    return a->serial > b->serial;
  };
  const auto newer = [](const StoredCheckpoint* a, const StoredCheckpoint* b) { return a->serial > b->serial; };
  std::vector<bool> kept(checkpoints.size());
  std::vector<const StoredCheckpoint*> scored;
  std::map<std::string, std::vector<const StoredCheckpoint*>> of_trial, scored_of_trial;
  for (const StoredCheckpoint& checkpoint : checkpoints) {
    of_trial[checkpoint.trial_id].push_back(&checkpoint);
    if (!number_of(checkpoint.score)) continue;
    scored.push_back(&checkpoint);
    scored_of_trial[checkpoint.trial_id].push_back(&checkpoint);
  }
  heap_sort(scored, better);
  keep_first(scored, rules.save_experiment_best, kept, checkpoints.data());
  for (auto& [trial, its] : scored_of_trial) {
    heap_sort(its, better);
    keep_first(its, rules.save_trial_best, kept, checkpoints.data());
  }
  for (auto& [trial, its] : of_trial) {
    heap_sort(its, newer);
    keep_first(its, rules.save_trial_latest, kept, checkpoints.data());
  }
  std::vector<std::string> uuids;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) uuids.push_back(checkpoints[i].uuid);
  return uuids;
}

std::vector<StoredCheckpoint> list_checkpoints(const std::string& folder, const std::shared_ptr<Vfs>& files) {
  const std::shared_ptr<Vfs> chosen = vfs_or_host(files, where);
  std::vector<StoredCheckpoint> checkpoints;
  if (chosen->kind(folder) == PathKind::none) return checkpoints;
  for (const std::string& name : chosen->list(folder)) {
    if (!is_uuid(name)) continue;
    try {
      checkpoints.push_back(read_description(*chosen, folder, name));
    } catch (const Error&) {
      if (chosen->exists(folder + '/' + name)) throw;  // else its trial has removed it meanwhile
    }
  }
  heap_sort(checkpoints, {}, &StoredCheckpoint::serial);
  return checkpoints;
}

std::vector<std::string> collect_checkpoints(const std::string& folder, const RetentionRules& rules,
                                             const std::shared_ptr<Vfs>& files) {
  return collect_checkpoints(std::vector{folder}, rules, files);
}

std::vector<std::string> collect_checkpoints(const std::vector<std::string>& folders, const RetentionRules& rules,
                                             const std::shared_ptr<Vfs>& files) {
  const std::shared_ptr<Vfs> chosen = vfs_or_host(files, where);
  std::vector<std::vector<StoredCheckpoint>> of_folders;
  std::vector<StoredCheckpoint> all;
  for (const std::string& folder : folders) {
    const auto& its = of_folders.emplace_back(list_checkpoints(folder, chosen));
    all.insert(all.end(), its.begin(), its.end());
  }
  const std::vector<std::string> kept = kept_checkpoints(all, rules);
  std::vector<std::string> removed;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    std::erase_if(of_folders[i], [&](const StoredCheckpoint& checkpoint) {
      return std::ranges::find(kept, checkpoint.uuid) != kept.end();
    });
    remove_all(*chosen, folders[i], of_folders[i]);
    for (const StoredCheckpoint& checkpoint : of_folders[i]) removed.push_back(checkpoint.uuid);
  }
  return removed;
}

NewCheckpoint::NewCheckpoint(CheckpointContext& context, Settings metadata)
    : context_(context),
      metadata_(std::move(metadata)),
      uuid_(new_uuid()),
      path_(context.folder_ + '/' + context.unfinished_name() + uuid_) {
  context_.files_->make_folders(path_, true);
}

NewCheckpoint::~NewCheckpoint() {
  if (!committed_) context_.files_->discard(path_);
}

void NewCheckpoint::commit(std::optional<double> score) {
  const std::vector<StoredCheckpoint> others = list_checkpoints(context_.folder_, context_.files_);
  context_.write_description(path_, {.uuid = uuid_,
                                     .trial_id = context_.trial_id_,
                                     .experiment_id = context_.experiment_id_,
                                     .serial = others.empty() ? 1 : others.back().serial + 1,
                                     .score = score,
                                     .metadata = metadata_});
  context_.files_->rename(path_, context_.folder_ + '/' + uuid_);
  committed_ = true;
  context_.files_->sync_folder(context_.folder_);
}

CheckpointContext::CheckpointContext(const ClusterInfo& info, std::shared_ptr<Vfs> files, bool is_chief)
    : folder_(info.checkpoint_storage.empty() ? info.storage + "/checkpoints" : info.checkpoint_storage),
      trial_id_(info.trial.trial_id),
      experiment_id_(info.trial.experiment_id),
      files_(std::move(files)),
      is_chief_(is_chief) {
  if (!is_chief_) return;
  files_->make_folders(folder_, true);
  // Removes unfinished checkpoints of an interrupted run of this trial.
  for (const std::string& name : files_->list(folder_))
    if (name.starts_with(unfinished_name()) && name.size() == unfinished_name().size() + uuid_size)
      files_->remove_tree(folder_ + '/' + name);
}

void CheckpointContext::check_is_chief(const char* method) const {
  check(is_chief_, ErrorKind::state, where, method,
        "() in a process of another rank than 0 - expected rank 0, which writes the files - call it there only.");
}

NewCheckpoint CheckpointContext::store_path(Settings metadata) {
  check_is_chief("store_path");
  return NewCheckpoint(*this, std::move(metadata));
}

void CheckpointContext::write_description(const std::string& path, const StoredCheckpoint& checkpoint) {
  Json json = {{"uuid", checkpoint.uuid},
               {"experiment_id", checkpoint.experiment_id},
               {"trial_id", checkpoint.trial_id},
               {"serial", checkpoint.serial},
               {"time", static_cast<double>(wall_milliseconds()) / 1000},
               {"score", nullptr},
               {"metadata", parse_json(checkpoint.metadata.json(), "metadata")}};
  if (const auto score = number_of(checkpoint.score)) json["score"] = *score;
  files_->replace(path + description_name, {json_text(json, 2), "\n"});
}

bool CheckpointContext::contains(const std::string& uuid) const {
  return is_uuid(uuid) && files_->kind(folder_ + '/' + uuid) == PathKind::folder;
}

std::string CheckpointContext::restore_path(const std::string& uuid) const {
  check(contains(uuid), ErrorKind::value, where, '"', uuid, "\" - expected the uuid of a checkpoint in \"", folder_,
        "\" - list() returns those that exist.");
  return folder_ + '/' + uuid;
}

StoredCheckpoint CheckpointContext::get(const std::string& uuid) const {
  static_cast<void>(restore_path(uuid));
  return read_description(*files_, folder_, uuid);
}

void CheckpointContext::remove(const std::string& uuid) {
  check_is_chief("remove");
  remove_all(*files_, folder_, {get(uuid)});
}

void CheckpointContext::set_score(const std::string& uuid, std::optional<double> score) {
  check_is_chief("set_score");
  StoredCheckpoint checkpoint = get(uuid);
  checkpoint.score = score;
  write_description(folder_ + '/' + uuid, checkpoint);
}

std::vector<StoredCheckpoint> CheckpointContext::list(const std::string& trial_id) const {
  std::vector<StoredCheckpoint> checkpoints = list_checkpoints(folder_, files_);
  if (!trial_id.empty())
    std::erase_if(checkpoints, [&](const StoredCheckpoint& checkpoint) { return checkpoint.trial_id != trial_id; });
  return checkpoints;
}

std::vector<std::string> CheckpointContext::collect(const RetentionRules& rules, const std::string& also) {
  check_is_chief("collect");
  std::vector<StoredCheckpoint> checkpoints = list("");
  std::vector<std::string> kept = kept_checkpoints(checkpoints, rules);
  kept.push_back(also);
  std::erase_if(checkpoints, [&](const StoredCheckpoint& checkpoint) {
    return checkpoint.trial_id != trial_id_ || std::ranges::find(kept, checkpoint.uuid) != kept.end();
  });
  remove_all(*files_, folder_, checkpoints);
  std::vector<std::string> removed;
  for (const StoredCheckpoint& checkpoint : checkpoints) removed.push_back(checkpoint.uuid);
  return removed;
}

}  // namespace etude::experiment
