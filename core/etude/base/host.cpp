#include "etude/base/host.hpp"

#include <cstdio>
#ifdef ETUDE_REGEX
#include <regex>
#include <stdexcept>
#endif

#include "etude/base/detail/system_vfs.hpp"
#include "etude/base/error.hpp"

namespace etude {
namespace {

#ifdef ETUDE_REGEX
std::regex compiled(const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& error) {
    throw std::invalid_argument(error.what());
  }
}

bool search_by_std(const std::string& pattern, const std::string& text) {
  return std::regex_search(text, compiled(pattern));
}

std::string replace_by_std(const std::string& pattern, const std::string& replacement, const std::string& text) {
  return std::regex_replace(text, compiled(pattern), replacement);
}
#endif

void write_to_stdio(Console console, std::string_view text) {
  std::FILE* const file = console == Console::output ? stdout : stderr;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

Host system_host() {
  Host result;
  result.write = write_to_stdio;
  result.files = system_vfs();
  result.watch_termination = watch_sigterm();
#ifdef ETUDE_REGEX
  result.search = search_by_std;
  result.replace = replace_by_std;
#endif
  return result;
}

/// Those of the current FilesScope; null if there is none. A pointer needs no destructor at the end of a thread.
thread_local const std::shared_ptr<Vfs>* files_in_scope = nullptr;

const std::shared_ptr<Vfs>& present_files() { return files_in_scope ? *files_in_scope : host().files; }

}  // namespace

FilesScope::FilesScope(std::shared_ptr<Vfs> files) : files_(std::move(files)), before_(files_in_scope) {
  if (files_) files_in_scope = &files_;
}
FilesScope::~FilesScope() { files_in_scope = before_; }

Host& host() {
  static Host instance = system_host();
  return instance;
}

// Declared in error.hpp: errors do not depend on the host.
void TextPart::append_literal(std::string& text, const void* part) {
  const char* literal = static_cast<const char*>(part);
  host().spelling ? host().spelling(text, literal) : void(text += literal);
}

std::string spelled(std::string_view literal) {
  if (!host().spelling) return std::string(literal);
  std::string text;
  host().spelling(text, literal);
  return text;
}

std::shared_ptr<Vfs> vfs_or_host(const std::shared_ptr<Vfs>& chosen, std::string_view where) {
  const std::shared_ptr<Vfs>& files = chosen ? chosen : present_files();
  check(files != nullptr, ErrorKind::io, where, "no file system is available - expected ",
        "a host with files, or the option files - pass a Vfs, such as MemoryVfs.");
  return files;
}

std::vector<std::byte> read_file(const std::string& path) {
  const std::shared_ptr<Vfs>& files = present_files();
  if (!files) fail_at_path(path, "read", "no file system is available");
  return files->read(path);
}

}  // namespace etude
