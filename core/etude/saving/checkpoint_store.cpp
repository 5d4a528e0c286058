#include "etude/saving/checkpoint_store.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>

#include "etude/base/detail/heap_sort.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/detail/checkpoint_format.hpp"
#include "etude/saving/detail/checkpoint_writes.hpp"
#include "etude/saving/detail/file_format.hpp"

namespace etude {
namespace {

constexpr std::string_view checkpoint_begin = "ckpt-", temporary_begin = ".tmp-";

/// Throws for damaged checkpoints, and for those that only a newer library can read.
Manifest manifest_of(Vfs& files, const std::string& folder) {
  const std::string path = folder + '/' + std::string(manifest_name);
  check(files.exists(path), ErrorKind::data, "checkpoint", '"', path,
        "\" is missing - expected one in every checkpoint - remove the folder if it is no checkpoint.");
  return parse_manifest(json_text_in(*files.source(path), path), path);
}

void refuse_newer(const Manifest& manifest, const std::string& folder) {
  check(manifest.format_version <= checkpoint_format_version, ErrorKind::data, "checkpoint", '"', folder,
        "\" has format version ", manifest.format_version, " - expected at most ", checkpoint_format_version,
        ", which this version of Étude reads - use a newer one, or another folder.");
}

struct Found {
  std::string folder;
  Manifest manifest;
};

using OnDamage = std::function<void(const std::string& path, const Error&)>;

/// All checkpoints of a folder with undamaged manifests, newest first. Calls `damaged` for each other one.
std::vector<Found> scan(Vfs& files, const std::string& folder, const OnDamage& damaged) {
  std::vector<Found> found;
  for (const std::string& name : files.list(folder)) {
    if (!name.starts_with(checkpoint_begin)) continue;
    const std::string path = folder + '/' + name;
    Manifest manifest;
    try {
      manifest = manifest_of(files, path);
    } catch (const Error& error) {
      damaged(path, error);
      continue;
    }
    refuse_newer(manifest, path);
    found.push_back({path, std::move(manifest)});
  }
  heap_sort(found, std::greater(), [](const Found& one) { return one.manifest.serial; });
  return found;
}

OpenCheckpointFile reader_of(Vfs& files, const std::string& folder) {
  return [&files, folder](const std::string& name) { return files.source(folder + '/' + name); };
}

Checkpoint load(Vfs& files, const Found& found) {
  return parse_checkpoint(found.manifest, reader_of(files, found.folder), found.folder);
}

/// Calls `read` for the newest checkpoint of a folder, and for older ones until it does not throw. Warns about each
/// damaged one, and calls `on_damage`, if there is one. Does nothing if the folder has no checkpoints; throws
/// Error(data) if all of them are damaged.
void read_newest(Vfs& files, const std::string& folder, const TextSink& warn,
                 const std::function<void(const Found&)>& read, const OnDamage& on_damage = {}) {
  constexpr int most_attempts = 10;
  if (files.kind_through_links(folder) == PathKind::none) return;
  std::string first;
  for (int attempt = 1;; ++attempt) {
    bool has_changed = false;
    const OnDamage damaged = [&](const std::string& path, const Error& error) {
      // A process that saves removes older checkpoints when a newer one is complete.
      if (attempt < most_attempts && !files.exists(path)) {
        has_changed = true;
        return;
      }
      if (first.empty()) first = error.what();
      if (on_damage) on_damage(path, error);
      print_warning(warn, std::string("a checkpoint was skipped: ") + error.what());
    };
    for (const Found& found : scan(files, folder, damaged)) {
      if (has_changed) break;
      try {
        return read(found);
      } catch (const Error& error) {
        damaged(found.folder, error);
      }
    }
    if (!has_changed) break;
  }
  check(first.empty(), ErrorKind::data, "checkpoint", "no checkpoint in \"", folder,
        "\" is undamaged - expected at least one - restore the folder, or use another; the first error: ", first);
}

std::optional<Checkpoint> read_newest_checkpoint(const std::string& folder, Vfs& files, const TextSink& warn,
                                                 const OnDamage& on_damage = {}) {
  std::optional<Checkpoint> result;
  read_newest(files, folder, warn, [&](const Found& found) { result = load(files, found); }, on_damage);
  return result;
}

void copy(const Tensor& from, Tensor& to) {
  if (to.shape() != from.shape() || to.dtype() != from.dtype() || static_cast<bool>(to) != static_cast<bool>(from))
    to = from.clone();
  else if (from.bytes())
    std::memcpy(to.raw(), from.raw(), from.bytes());
}

/// Copies into the existing memory of `to` where it fits.
void copy(const Checkpoint& from, Checkpoint& to) {
  std::vector<TensorGroup> groups = std::exchange(to.tensors, {});
  groups.resize(from.tensors.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].name = from.tensors[i].name;
    groups[i].tensors.resize(from.tensors[i].tensors.size());
    for (std::size_t k = 0; k < groups[i].tensors.size(); ++k) {
      groups[i].tensors[k].name = from.tensors[i].tensors[k].name;
      copy(from.tensors[i].tensors[k].tensor, groups[i].tensors[k].tensor);
    }
  }
  to = {from.step, std::move(groups), from.documents, from.run_id, from.score};
}

}  // namespace

CheckpointStore::CheckpointStore(std::string folder, CheckpointStoreOptions options)
    : folder_(std::move(folder)), options_(std::move(options)), files_(vfs_or_host(options_.files, "checkpoint")) {
  check(options_.keep_newest >= 0 && options_.keep_best >= 0, ErrorKind::value, "checkpoint",
        "keep_newest = ", options_.keep_newest, " and keep_best = ", options_.keep_best,
        " - expected numbers of 0 or more - change them.");
  files_->make_folders(folder_, true);
  lock_ = files_->lock(path_of("LOCK"));
  const auto damaged = [](const std::string&, const Error& error) {
    // A checkpoint that cannot be read now may be the newest.
    if (error.kind() == ErrorKind::io) throw error;
  };
  for (const Found& found : scan(*files_, folder_, damaged))
    entries_.push_back(
        {found.folder.substr(folder_.size() + 1), found.manifest.step, found.manifest.serial, found.manifest.score});
  std::ranges::reverse(entries_);
}

CheckpointStore::~CheckpointStore() {
  try {
    writer_.wait();
  } catch (const std::exception& error) {
    warn_of(error.what());
  } catch (...) {
    warn_of("an exception of an unknown type was thrown");
  }
}

void CheckpointStore::warn_of(const char* reason) const noexcept {
  try {
    print_warning(options_.warn, std::string("the last checkpoint was not saved: ") + reason);
  } catch (...) {
    // A destructor does not throw.
  }
}

std::string CheckpointStore::save(const Checkpoint& checkpoint) { return save(checkpoint, {}); }

std::string CheckpointStore::save(const Checkpoint& checkpoint, const std::vector<StoredGroup>& groups) {
  wait();
  return write(checkpoint, groups);
}

void CheckpointStore::save_later(const Checkpoint& checkpoint) {
  wait();  // the snapshot is in use until then
  copy(checkpoint, snapshot_);
  writer_.start([this] { write(snapshot_, {}); });
}

std::string CheckpointStore::write(const Checkpoint& checkpoint, const std::vector<StoredGroup>& groups) {
  const CheckpointWriteTimer timer;
  check(checkpoint.step >= 0, ErrorKind::value, "checkpoint", "step = ", checkpoint.step,
        " - expected 0 or more - count from there.");
  sweep();
  const std::uint64_t serial = entries_.empty() ? 1 : entries_.back().serial + 1;
  const std::string name = free_name(checkpoint.step);
  // This store holds the lock: no other process creates this name.
  const std::string unfinished = path_of(std::string(temporary_begin) + name), path = path_of(name);
  try {
    write_files(unfinished, compose_checkpoint(checkpoint, serial, groups));
    files_->rename(unfinished, path);
  } catch (...) {
    files_->discard(unfinished);
    throw;
  }
  entries_.push_back({name, checkpoint.step, serial, checkpoint.score});
  files_->sync_folder(folder_);
  // Older checkpoints are removed only after this one was read back.
  verify_checkpoint(manifest_of(*files_, path), reader_of(*files_, path), path);
  files_->replace(path_of("LATEST"), {name, "\n"});
  remove_what_need_not_stay();
  return path;
}

/// ckpt-00001200; with a number appended where a run reaches a step again, because a folder cannot replace another
/// atomically.
std::string CheckpointStore::free_name(std::int64_t step) const {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%08lld", static_cast<long long>(step));
  const std::string name = std::string(checkpoint_begin) + digits;
  std::string free = name;
  for (int i = 1; files_->exists(path_of(free)); ++i) free = name + '-' + std::to_string(i);
  return free;
}

void CheckpointStore::write_files(const std::string& into, const std::vector<ComposedFile>& files) {
  files_->make_folder(into);
  for (const ComposedFile& composed : files) {
    const auto file = files_->open(into + '/' + composed.name, false);
    composed.visit_pieces([&](std::string_view piece) { file->append(piece); });
    file->sync();
  }
  files_->sync_folder(into);
}

void CheckpointStore::sweep() {
  for (const std::string& name : files_->list(folder_))
    if (name.starts_with(temporary_begin)) files_->remove_tree(path_of(name));
}

void CheckpointStore::remove_what_need_not_stay() {
  std::vector<std::string> kept = best();
  int newest = std::max(options_.keep_newest, 1);  // at least the one just read back
  for (auto entry = entries_.rbegin(); entry != entries_.rend() && newest > 0; ++entry)
    if (!entry->damaged) {
      kept.push_back(entry->name);
      --newest;
    }
  std::vector<std::string> names;
  for (const Entry& entry : entries_)
    if (std::ranges::find(kept, entry.name) == kept.end()) names.push_back(entry.name);
  remove(names);
}

/// Renames each folder first, durably, so that no partly removed folder keeps its name.
void CheckpointStore::remove(const std::vector<std::string>& names) {
  std::vector<std::string> removed;
  for (const std::string& name : names)
    if (const std::string path = path_of(name); files_->exists(path))
      files_->rename(path, removed.emplace_back(path_of(std::string(temporary_begin) + name)));
  std::erase_if(entries_, [&](const Entry& entry) { return std::ranges::find(names, entry.name) != names.end(); });
  if (!removed.empty()) files_->sync_folder(folder_);
  for (const std::string& path : removed) files_->remove_tree(path);
}

void CheckpointStore::clear() {
  wait();
  sweep();
  // Includes the damaged ones.
  std::vector<std::string> names = files_->list(folder_);
  std::erase_if(names, [](const std::string& name) { return !name.starts_with(checkpoint_begin); });
  remove(names);
  files_->remove_tree(path_of("LATEST"));
  // Removes the lock's file while it is held, so that no other process locks it in between.
  files_->remove_tree(path_of("LOCK"));
  lock_.reset();
  if (files_->list(folder_).empty()) files_->remove(folder_);
}

std::vector<std::string> CheckpointStore::best() const {
  std::vector<const Entry*> scored;
  for (const Entry& entry : entries_)
    if (entry.score && !std::isnan(*entry.score) && !entry.damaged) scored.push_back(&entry);
  // Of two equal scores, the newer checkpoint comes first.
  heap_sort(scored, [&](const Entry* a, const Entry* b) {
    if (*a->score != *b->score) return (*a->score > *b->score) == options_.higher_is_better;
    return a->serial > b->serial;
  });
  scored.resize(std::min(scored.size(), static_cast<std::size_t>(options_.keep_best)));
  std::vector<std::string> names;
  for (const Entry* entry : scored) names.push_back(entry->name);
  return names;
}

std::optional<Checkpoint> CheckpointStore::load_newest() {
  wait();
  return read_newest_checkpoint(folder_, *files_, options_.warn, [&](const std::string& path, const Error& error) {
    for (Entry& entry : entries_)
      if (path == path_of(entry.name) && error.kind() == ErrorKind::data) entry.damaged = true;
  });
}

std::vector<std::string> CheckpointStore::list() {
  wait();
  std::vector<std::string> paths;
  for (const Entry& entry : entries_) paths.push_back(path_of(entry.name));
  std::ranges::reverse(paths);
  return paths;
}

std::optional<Checkpoint> load_newest_checkpoint(const std::string& folder, const std::shared_ptr<Vfs>& files,
                                                 const TextSink& warn) {
  const std::shared_ptr<Vfs> chosen = vfs_or_host(files, "checkpoint");
  return read_newest_checkpoint(folder, *chosen, warn);
}

std::optional<std::vector<StoredTensor>> newest_stored_group(const std::string& folder, const std::string& group,
                                                             Vfs& files) {
  std::optional<std::vector<StoredTensor>> result;
  read_newest(files, folder, {}, [&](const Found& found) {
    result = stored_group(found.manifest, group, reader_of(files, found.folder), found.folder);
  });
  return result;
}

Checkpoint load_checkpoint(const std::string& folder, const std::shared_ptr<Vfs>& files) {
  const std::shared_ptr<Vfs> chosen = vfs_or_host(files, "checkpoint");
  Found found{folder, manifest_of(*chosen, folder)};
  refuse_newer(found.manifest, folder);
  return load(*chosen, found);
}

}  // namespace etude
