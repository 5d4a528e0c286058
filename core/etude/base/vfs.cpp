#include "etude/base/vfs.hpp"

#include "etude/base/error.hpp"

namespace etude {
namespace {

/// The name of a file until it is complete.
std::string unfinished(const std::string& path) { return path + ".tmp"; }

}  // namespace

void FileSink::overwrite(std::uint64_t, std::string_view) {
  fail(ErrorKind::io, "file",
       "overwrite() of a file that only grows - expected a Vfs with overwrite() - implement it in the Vfs.");
}

std::unique_ptr<FileSource> Vfs::source(const std::string& path) { return std::make_unique<MemorySource>(read(path)); }

std::string parent_of(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  if (last == path.npos) return path.empty() ? "." : "/";
  const std::size_t slash = path.find_last_of('/', last);
  if (slash == path.npos) return ".";
  const std::size_t end = path.find_last_not_of('/', slash);
  return end == path.npos ? "/" : path.substr(0, end + 1);
}

void Vfs::make_folders(const std::string& path, bool sync) {
  if (kind(path) == PathKind::folder) return;
  const std::string parent = parent_of(path);
  if (parent != path) make_folders(parent, sync);
  make_folder(path);
  if (sync) sync_folder(parent);
}

void Vfs::remove_tree(const std::string& path) {
  const PathKind found = kind(path);
  if (found == PathKind::none) return;
  if (found == PathKind::folder)
    for (const std::string& name : list(path)) remove_tree(path + '/' + name);
  remove(path);
}

void Vfs::replace(const std::string& path, const std::vector<std::string_view>& pieces) {
  FileReplacement made(*this, path);
  for (const std::string_view piece : pieces) made.file().append(piece);
  made.commit();
}

FileReplacement::FileReplacement(Vfs& files, const std::string& path) : files_(files), path_(path) {
  const bool existed = files_.kind(unfinished(path_)) != PathKind::none;
  try {
    file_ = files_.open(unfinished(path_), false);
  } catch (...) {
    if (!existed) files_.discard(unfinished(path_));  // open() may have created it
    throw;
  }
}

FileReplacement::~FileReplacement() {
  if (renamed_) return;
  file_.reset();
  files_.discard(unfinished(path_));
}

void FileReplacement::commit() {
  file_->sync();
  file_.reset();
  files_.rename(unfinished(path_), path_);
  renamed_ = true;
  files_.sync_folder(parent_of(path_));
}

void Vfs::discard(const std::string& path) noexcept {
  try {
    remove_tree(path);
  } catch (...) {
    // A leftover is harmless; the first error is reported.
  }
}

const char* system_path(const std::string& path, std::string_view what) {
  const std::size_t end = path.find('\0');
  if (end != path.npos) fail_at_path(path.substr(0, end), what, "a NUL byte follows, which names must not contain");
  return path.c_str();
}

void fail_at_path(const std::string& path, std::string_view what, std::string_view reason) {
  const char* expected = what == "read" ? "an existing, readable file" : "an existing, writable place";
  fail(ErrorKind::io, "file", '"', path, "\" cannot be ", what, ": ", reason, " - expected ", expected,
       " - check the path.");
}

}  // namespace etude
