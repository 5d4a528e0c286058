#include "etude/base/memory_vfs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {
namespace {

/// "a/b" for "./a//b/"; "" is the root, also for "." and "/".
std::string plain(const std::string& path) {
  std::string result;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (!part.empty() && part != ".") result += (result.empty() ? "" : "/") + part;
    begin = end + 1;
  }
  return result;
}

std::string plain_parent(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == path.npos ? "" : path.substr(0, slash);
}

}  // namespace

class MemoryVfs::File : public FileSink {
 public:
  File(MemoryVfs& files, Content content)
      : files_(files), content_(std::move(content)), began_empty_(content_->empty()) {}
  bool empty() const override { return began_empty_; }
  void append(std::string_view bytes) override {
    const std::lock_guard held(files_.mutex_);
    *content_ += bytes;
  }
  void overwrite(std::uint64_t at, std::string_view bytes) override {
    const std::lock_guard held(files_.mutex_);
    content_->replace(static_cast<std::size_t>(at), bytes.size(), bytes);
  }
  void flush() override {}

 private:
  MemoryVfs& files_;
  const Content content_;
  const bool began_empty_;
};

class MemoryVfs::Source : public FileSource {
 public:
  Source(MemoryVfs& files, Content content, std::string path)
      : files_(files), content_(std::move(content)), path_(std::move(path)), size_(content_->size()) {}
  std::uint64_t size() const override { return size_; }
  void read(std::uint64_t at, std::span<std::byte> out) override {
    const std::lock_guard held(files_.mutex_);
    const std::uint64_t size = content_->size();
    if (at > size || out.size() > size - at) fail_at_path(path_, "read", "it ended while it was read");
    if (!out.empty()) std::memcpy(out.data(), content_->data() + at, out.size());
  }

 private:
  MemoryVfs& files_;
  const Content content_;
  const std::string path_;
  const std::uint64_t size_;
};

/// Paths that are locked.
struct MemoryVfs::Locked {
  std::mutex mutex;
  std::set<std::string> paths;
};

class MemoryVfs::Lock : public FileLock {
 public:
  Lock(std::shared_ptr<Locked> locked, std::string path) : locked_(std::move(locked)), path_(std::move(path)) {}
  ~Lock() override {
    const std::lock_guard held(locked_->mutex);
    locked_->paths.erase(path_);
  }

 private:
  const std::shared_ptr<Locked> locked_;
  const std::string path_;
};

MemoryVfs::MemoryVfs() : locked_(std::make_shared<Locked>()) {}

MemoryVfs::MemoryVfs(const MemoryVfs& other) : Vfs(other), locked_(std::make_shared<Locked>()) {
  const std::lock_guard held(other.mutex_);
  for (const auto& [path, content] : other.entries_)
    entries_[path] = content ? std::make_shared<std::string>(*content) : nullptr;
}

PathKind MemoryVfs::kind_of(const std::string& path) const {
  if (path.empty()) return PathKind::folder;
  const auto found = entries_.find(path);
  if (found == entries_.end()) return PathKind::none;
  return found->second ? PathKind::file : PathKind::folder;
}

const MemoryVfs::Content& MemoryVfs::content(const std::string& path, std::string_view what) const {
  const auto found = entries_.find(plain(path));
  if (found == entries_.end()) fail_at_path(path, what, std::strerror(ENOENT));
  if (!found->second) fail_at_path(path, what, std::strerror(EISDIR));
  return found->second;
}

void MemoryVfs::require_folder(const std::string& folder, const std::string& path, std::string_view what) const {
  const PathKind found = kind_of(folder);
  if (found != PathKind::folder) fail_at_path(path, what, std::strerror(found == PathKind::none ? ENOENT : ENOTDIR));
}

bool MemoryVfs::inhabited(const std::string& folder) const {
  const auto next = entries_.lower_bound(folder + '/');
  return next != entries_.end() && next->first.starts_with(folder + '/');
}

std::vector<std::byte> MemoryVfs::read(const std::string& path) {
  const std::lock_guard held(mutex_);
  const std::string& bytes = *content(path, "read");
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

std::uint64_t MemoryVfs::size(const std::string& path) {
  const std::lock_guard held(mutex_);
  return content(path, "read")->size();
}

std::unique_ptr<FileSource> MemoryVfs::source(const std::string& path) {
  const std::lock_guard held(mutex_);
  return std::make_unique<Source>(*this, content(path, "read"), path);
}

std::unique_ptr<FileSink> MemoryVfs::open(const std::string& path, bool append) {
  const std::lock_guard held(mutex_);
  const std::string name = plain(path);
  require_folder(plain_parent(name), path, "opened");
  if (kind_of(name) == PathKind::folder) fail_at_path(path, "opened", std::strerror(EISDIR));
  Content& content = entries_[name];
  if (!content) content = std::make_shared<std::string>();
  if (!append) content->clear();
  return std::make_unique<File>(*this, content);
}

void MemoryVfs::sync_folder(const std::string& path) {
  const std::lock_guard held(mutex_);
  require_folder(plain(path), path, "synced");
}

void MemoryVfs::rename(const std::string& from, const std::string& to) {
  const std::lock_guard held(mutex_);
  const std::string before = plain(from), after = plain(to);
  const PathKind moved = kind_of(before), replaced = kind_of(after);
  if (moved == PathKind::none || before.empty()) fail_at_path(to, "renamed to", std::strerror(ENOENT));
  require_folder(plain_parent(after), to, "renamed to");
  if (before == after) return;
  if (replaced == PathKind::folder && (moved == PathKind::file || inhabited(after)))
    fail_at_path(to, "renamed to", std::strerror(moved == PathKind::file ? EISDIR : ENOTEMPTY));
  if (replaced == PathKind::file && moved == PathKind::folder) fail_at_path(to, "renamed to", std::strerror(ENOTDIR));
  if (after.starts_with(before + '/')) fail_at_path(to, "renamed to", std::strerror(EINVAL));
  entries_[after] = entries_.at(before);
  entries_.erase(before);
  for (auto next = entries_.lower_bound(before + '/');
       next != entries_.end() && next->first.starts_with(before + '/');) {
    entries_[after + next->first.substr(before.size())] = next->second;
    next = entries_.erase(next);
  }
}

void MemoryVfs::remove(const std::string& path) {
  const std::lock_guard held(mutex_);
  const std::string name = plain(path);
  if (kind_of(name) == PathKind::none || name.empty()) fail_at_path(path, "removed", std::strerror(ENOENT));
  if (inhabited(name)) fail_at_path(path, "removed", std::strerror(ENOTEMPTY));
  entries_.erase(name);
}

std::vector<std::string> MemoryVfs::list(const std::string& folder) {
  const std::lock_guard held(mutex_);
  require_folder(plain(folder), folder, "read");
  const std::string name = plain(folder), begin = name.empty() ? "" : name + '/';
  std::vector<std::string> names;
  for (auto next = entries_.lower_bound(begin); next != entries_.end() && next->first.starts_with(begin); ++next)
    if (next->first.find('/', begin.size()) == std::string::npos) names.push_back(next->first.substr(begin.size()));
  return names;
}

void MemoryVfs::make_folder(const std::string& path) {
  const std::lock_guard held(mutex_);
  const std::string name = plain(path);
  if (kind_of(name) == PathKind::file) fail_at_path(path, "made", std::strerror(EEXIST));
  require_folder(plain_parent(name), path, "made");
  if (!name.empty()) entries_[name] = nullptr;
}

PathKind MemoryVfs::kind(const std::string& path) {
  const std::lock_guard held(mutex_);
  return kind_of(plain(path));
}

std::unique_ptr<FileLock> MemoryVfs::lock(const std::string& path) {
  open(path, true);
  const std::lock_guard held(locked_->mutex);
  check(locked_->paths.insert(plain(path)).second, ErrorKind::state, "file", '"', path,
        "\" is locked by another part of this program - expected a free folder - wait until that part ends, "
        "or choose another folder.");
  return std::make_unique<Lock>(locked_, plain(path));
}

}  // namespace etude
