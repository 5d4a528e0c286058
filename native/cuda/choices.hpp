#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "cuda/cache_folder.hpp"

namespace etude::cuda {

/// The algorithms that were measured to be the fastest, one for each kind of product or convolution, on GPUs of one
/// model. All GPUs of the model in a process share them, and so compute the same bits; a file keeps them for later
/// processes. Several threads may call it at the same time.
class Choices {
 public:
  /// `measured_with` identifies everything that the choices depend on: the model, and the versions of the libraries.
  /// Without a folder, choices exist only in the process.
  explicit Choices(std::string measured_with, std::shared_ptr<Vfs> files = nullptr, std::string folder = {});

  /// The choice for a kind, if there is one. The file is read at the first call.
  std::optional<std::string> find(const std::string& kind);
  /// Makes `choice` that of the process, unless there is another one than `refused` already; returns the process's
  /// choice. If it was `measured`, it is also written to the file, with those of other processes; of two choices for
  /// one kind, the later one stays. Neither text contains a tab or a newline.
  std::string keep(const std::string& kind, const std::string& choice, bool measured, std::string_view refused = {});

  /// The most choices in a file, and the most characters of a written choice. The oldest ones are removed first.
  static constexpr std::size_t most = 4096, longest = 1024;

 private:
  void load();
  void write();

  std::string measured_with_;
  CacheFolder folder_;
  std::mutex mutex_;
  bool loaded_ = false;
  std::map<std::string, std::string> known_;
  std::map<std::string, std::string> measured_;  ///< here, in this process
};

}  // namespace etude::cuda
