#include "cuda/program_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>

#include "etude/base/crc32c.hpp"
#include "etude/base/error.hpp"
#include "etude/base/worker_thread.hpp"

namespace etude::cuda {
namespace {

/// The most files, of about 20 kB each, when a process writes its first one. If there are more, all are removed.
constexpr std::size_t most_files = 4096;

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

constexpr std::size_t sum_digits = 16;

}  // namespace

ProgramCache::ProgramCache(Compile compile, std::string version, std::shared_ptr<Vfs> files, std::string folder)
    : compile_(std::move(compile)),
      version_(std::move(version)),
      files_(folder.empty() ? nullptr : std::move(files)),
      folder_(std::move(folder)) {}

std::vector<ProgramCache::Cubin> ProgramCache::cubins(std::span<const std::string> sources, int architecture) {
  std::vector<Cubin> results(sources.size());
  std::atomic<std::size_t> next = 0;
  std::mutex failing;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      try {
        results[i] = cubin(sources[i], architecture);
      } catch (...) {
        const std::lock_guard lock(failing);
        failure = std::current_exception();
        next = sources.size();
      }
    }
  };
  std::vector<std::thread> threads;
  const std::size_t wanted = std::min<std::size_t>(std::thread::hardware_concurrency(), sources.size());
  while (threads.size() + 1 < wanted) {
    auto started = started_thread(work, "compiling programs for the GPU");
    if (!started) break;
    threads.push_back(std::move(*started));
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return results;
}

ProgramCache::Cubin ProgramCache::cubin(const std::string& source, int architecture) {
  const std::pair key(architecture, source);
  std::promise<Cubin> compiled;
  {
    std::unique_lock lock(mutex_);
    const auto [known, is_new] = cubins_.try_emplace(key);
    if (!is_new) {
      const std::shared_future<Cubin> result = known->second;
      lock.unlock();
      return result.get();
    }
    known->second = compiled.get_future().share();
  }
  try {
    Cubin result = read_or_compile(source, architecture);
    compiled.set_value(result);
    return result;
  } catch (...) {
    compiled.set_exception(std::current_exception());
    const std::lock_guard lock(mutex_);
    cubins_.erase(key);  // the next call tries again
    throw;
  }
}

ProgramCache::Cubin ProgramCache::read_or_compile(const std::string& source, int architecture) {
  // No text contains a NUL byte.
  const std::string header = version_ + "\nsm_" + std::to_string(architecture) + '\n' + source + '\0';
  const std::string path = folder_ + '/' + hex(hash(header)) + ".cubin";
  if (Cubin known = read(path, header)) return known;
  auto compiled = std::make_shared<const std::vector<char>>(compile_(source, architecture));
  write(path, header, *compiled);
  return compiled;
}

/// A file is the CRC-32C of what follows, in hexadecimal digits, then the header, then the cubin.
ProgramCache::Cubin ProgramCache::read(const std::string& path, const std::string& header) const {
  if (!files_) return nullptr;
  try {
    if (files_->kind(path) != PathKind::file) return nullptr;
    const std::vector<std::byte> bytes = files_->read(path);
    const std::string_view text = text_of(bytes), checked = text.substr(std::min(sum_digits, text.size()));
    if (!checked.starts_with(header) || text.substr(0, sum_digits) != hex(crc32c(checked))) return nullptr;
    const std::string_view cubin = checked.substr(header.size());
    return std::make_shared<const std::vector<char>>(cubin.begin(), cubin.end());
  } catch (const Error&) {
    return nullptr;
  }
}

void ProgramCache::write(const std::string& path, const std::string& header, const std::vector<char>& cubin) {
  if (!files_) return;
  const std::string_view body(cubin.data(), cubin.size());
  try {
    std::call_once(limited_, [this] { limit_folder(); });
    const std::string sum = hex(crc32c(body, crc32c(header)));
    files_->replace(path, {sum, header, body});
  } catch (const Error&) {
    return;  // the next process compiles it again
  }
}

void ProgramCache::limit_folder() {
  files_->make_folders(folder_);
  const std::vector<std::string> names = files_->list(folder_);
  if (names.size() <= most_files) return;
  for (const std::string& name : names) files_->discard(folder_ + '/' + name);
}

std::string programs_folder() {
  const auto below = [](const char* variable, const char* folder) -> std::string {
    const char* value = std::getenv(variable);
    return value && *value ? value + std::string(folder) : "";
  };
  if (std::getenv("ETUDE_CACHE")) return below("ETUDE_CACHE", "/programs");
  const std::string chosen = below("XDG_CACHE_HOME", "/etude/programs");
  return chosen.empty() ? below("HOME", "/.cache/etude/programs") : chosen;
}

}  // namespace etude::cuda
