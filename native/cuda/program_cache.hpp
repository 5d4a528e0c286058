#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/cache_folder.hpp"

namespace etude::cuda {

/// Cubins of programs: each text is compiled once per process, and, with a folder, once per user.
class ProgramCache {
 public:
  using Cubin = std::shared_ptr<const std::vector<char>>;
  /// Several threads may call it at the same time.
  using Compile = std::function<std::vector<char>(const std::string& source, int architecture)>;

  /// `version` identifies everything on which the result of `compile` depends, except the text and the architecture.
  /// Cubins are written to `folder` of `files`, which is created on demand. Without a folder, cubins exist only in the
  /// process.
  ProgramCache(Compile compile, std::string version, std::shared_ptr<Vfs> files = nullptr, std::string folder = {});

  /// The cubins of these texts for GPUs of one architecture (90: Hopper). Compiles as many texts at the same time as
  /// there are cores. A thread waits for texts that another thread compiles. Throws the exceptions of `compile`. Files
  /// that are damaged, or cannot be read or written, are ignored.
  std::vector<Cubin> cubins(std::span<const std::string> sources, int architecture);

 private:
  Cubin cubin(const std::string& source, int architecture);
  Cubin read_or_compile(const std::string& source, int architecture);

  Compile compile_;
  std::string version_;
  CacheFolder folder_;
  std::mutex mutex_;
  std::map<std::pair<int, std::string>, std::shared_future<Cubin>> cubins_;
};

}  // namespace etude::cuda
