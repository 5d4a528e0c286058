#include "cuda/cache_folder.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "etude/base/detail/crc32c.hpp"
#include "etude/base/error.hpp"

namespace etude::cuda {
namespace {

constexpr std::size_t sum_digits = 16;

std::string hex(std::uint64_t number) {
  std::string digits(16, '0');
  for (std::size_t i = digits.size(); i-- > 0; number /= 16) digits[i] = "0123456789abcdef"[number % 16];
  return digits;
}

/// FNV-1a. Source: draft-eastlake-fnv, 64 bits.
std::uint64_t hash(std::string_view text) {
  std::uint64_t result = 0xcbf29ce484222325;
  for (const char c : text) result = (result ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return result;
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The bytes before a body. No header contains a NUL byte.
std::string ended(std::string_view header) { return std::string(header) + '\0'; }

}  // namespace

CacheFolder::CacheFolder(std::shared_ptr<Vfs> files, std::string folder, std::string ending, std::size_t most_files)
    : files_(folder.empty() ? nullptr : std::move(files)),
      folder_(std::move(folder)),
      ending_(std::move(ending)),
      most_files_(most_files) {}

std::string CacheFolder::path_of(std::string_view header) const {
  return folder_ + '/' + hex(hash(ended(header))) + ending_;
}

/// A file is the CRC-32C of what follows, in hexadecimal digits, then the header and a NUL byte, then the body.
std::optional<std::string> CacheFolder::read(std::string_view header) const {
  if (!files_) return {};
  try {
    const std::string path = path_of(header), before = ended(header);
    if (files_->kind(path) != PathKind::file) return {};
    const std::vector<std::byte> bytes = files_->read(path);
    const std::string_view text = text_of(bytes), checked = text.substr(std::min(sum_digits, text.size()));
    if (!checked.starts_with(before) || text.substr(0, sum_digits) != hex(crc32c(checked))) return {};
    return std::string(checked.substr(before.size()));
  } catch (const Error&) {
    return {};
  }
}

void CacheFolder::write(std::string_view header, std::string_view body) {
  if (!files_) return;
  try {
    std::call_once(limited_, [this] { limit(); });
    const std::string before = ended(header), sum = hex(crc32c(body, crc32c(before)));
    files_->replace(path_of(header), {sum, before, body});
  } catch (const Error&) {
    return;  // the next process makes it again
  }
}

void CacheFolder::limit() {
  files_->make_folders(folder_);
  const std::vector<std::string> names = files_->list(folder_);
  if (names.size() <= most_files_) return;
  for (const std::string& name : names) files_->discard(folder_ + '/' + name);
}

std::string cache_folder(const std::string& name) {
  const auto below = [&](const char* variable, const std::string& folder) {
    const char* value = std::getenv(variable);
    return value && *value ? value + folder + '/' + name : std::string();
  };
  if (std::getenv("ETUDE_CACHE")) return below("ETUDE_CACHE", "");
  const std::string chosen = below("XDG_CACHE_HOME", "/etude");
  return chosen.empty() ? below("HOME", "/.cache/etude") : chosen;
}

}  // namespace etude::cuda
