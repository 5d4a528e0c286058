#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/saving/checkpoint.hpp"

namespace etude {

/// What is in a checkpoint's folder, without saying where folders are: a host whose files take promises writes what
/// compose_checkpoint gives, the manifest last, and hands what it reads to parse_checkpoint.

/// The version that this library writes. It reads all up to it.
constexpr int checkpoint_format_version = 1;
constexpr std::string_view manifest_name = "manifest.json";

/// A file, as it is to be written: what it begins with, then tensors' bytes, which it shares.
struct ComposedFile {
  std::string name, head;
  std::vector<Tensor> body = {};

  std::vector<std::string_view> pieces() const;
};

/// The files of a checkpoint in the order in which they are written: the manifest, which says what the others hold, is
/// the last. `serial` counts the checkpoints of a folder: the one with the highest is the newest. Throws Error(value)
/// for names that are no file names or come twice, and what safetensors_header throws; Error(data) for a document that
/// is no JSON.
std::vector<ComposedFile> compose_checkpoint(const Checkpoint& checkpoint, std::uint64_t serial);

/// What a manifest says:
///
///     {"format_version": 1, "etude_version": "0.1.0", "run_id": "", "step": 1200, "serial": 7, "score": 0.25,
///      "files": [{"name": "model.safetensors", "size": 4096, "crc32c": "e3069283",
///                 "tensors": {"dense/kernel": "8a9136aa", …}}, …],
///      "crc32c": "62a8ab43"}
///
/// Its last line holds the CRC-32C of all bytes before that line. That, and where format_version stands, hold for every
/// version.
struct Manifest {
  struct File {
    std::string name;
    std::uint64_t size = 0;
    std::uint32_t crc32c = 0;
    /// Each tensor's own, to tell which one is damaged.
    std::vector<std::pair<std::string, std::uint32_t>> tensors = {};
  };
  int format_version = 0;
  std::string etude_version = {}, run_id = {};
  std::int64_t step = 0;
  std::uint64_t serial = 0;
  std::optional<double> score = {};
  std::vector<File> files = {};
};

/// Throws Error(data) for what is damaged. Of a version newer than this library's, only format_version is read.
Manifest parse_manifest(std::string_view text, const std::string& path);

/// Gives the bytes of a file of the checkpoint, of which `size` are expected; throws Error(io) where it cannot.
using ReadCheckpointFile = std::function<std::vector<std::byte>(const std::string& name, std::uint64_t size)>;

/// Compares each file with what the manifest says, one after the other. `path` is what errors call the folder. Throws
/// Error(data), naming the file and if possible the tensor that is damaged, and what `read` throws.
void verify_checkpoint(const Manifest& manifest, const ReadCheckpointFile& read, const std::string& path);

/// The checkpoint that a manifest describes; throws what verify_checkpoint does.
Checkpoint parse_checkpoint(const Manifest& manifest, const ReadCheckpointFile& read, const std::string& path);

}  // namespace etude
