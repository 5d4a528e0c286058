#include "cuda/program_cache.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "etude/base/detail/worker_thread.hpp"

namespace etude::cuda {
namespace {

/// The most files in the folder, of about 20 kB each.
constexpr std::size_t most_files = 4096;

}  // namespace

ProgramCache::ProgramCache(Compile compile, std::string version, std::shared_ptr<Vfs> files, std::string folder)
    : compile_(std::move(compile)),
      version_(std::move(version)),
      folder_(std::move(files), std::move(folder), ".cubin", most_files) {}

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
  const std::string header = version_ + "\nsm_" + std::to_string(architecture) + '\n' + source;
  if (const auto known = folder_.read(header))
    return std::make_shared<const std::vector<char>>(known->begin(), known->end());
  auto compiled = std::make_shared<const std::vector<char>>(compile_(source, architecture));
  folder_.write(header, {compiled->data(), compiled->size()});
  return compiled;
}

}  // namespace etude::cuda
