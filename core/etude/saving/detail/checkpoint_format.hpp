#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/detail/stored_tensor.hpp"
#include "etude/base/file_source.hpp"
#include "etude/base/vfs.hpp"
#include "etude/saving/checkpoint.hpp"

namespace etude {

/// The contents of a checkpoint's folder, independent of storage: a host with asynchronous files writes the files of
/// compose_checkpoint, the manifest last, and passes what it reads to parse_checkpoint.

/// The version that this library writes. It reads all versions up to this one.
constexpr int checkpoint_format_version = 1;
constexpr std::string_view manifest_name = "manifest.json";

/// Tensors of a checkpoint that are made when they are written, and not held together.
struct StoredGroup {
  std::string name;
  std::vector<StoredTensor> tensors;
};

/// A file to write: its first bytes, then the bytes of tensors.
struct ComposedFile {
  std::string name, head;
  std::vector<StoredTensor> body = {};

  /// Calls `visit` with all bytes, piece by piece.
  void visit_pieces(const std::function<void(std::string_view bytes)>& visit) const;
};

/// The files of a checkpoint in the order in which they are written. The manifest, which describes the others, is the
/// last. `serial` numbers the checkpoints of a folder: the highest is the newest. Throws Error(value) for names that
/// are invalid as file names or not unique, and the errors of safetensors_header; Error(data) for a document that is
/// not valid JSON.
/// `groups` follow the checkpoint's own; their tensors are read once here, for the checksums.
std::vector<ComposedFile> compose_checkpoint(const Checkpoint& checkpoint, std::uint64_t serial,
                                             std::vector<StoredGroup> groups = {});

/// A manifest:
///
///     {"format_version": 1, "etude_version": "0.1.0", "run_id": "", "step": 1200, "serial": 7, "score": 0.25,
///      "files": [{"name": "model.safetensors", "size": 4096, "crc32c": "e3069283",
///                 "tensors": {"dense/kernel": "8a9136aa", …}}, …],
///      "crc32c": "62a8ab43"}
///
/// Its last line holds the CRC-32C of all bytes before that line. This line and the place of format_version are the
/// same in every version.
struct Manifest {
  struct File {
    std::string name;
    std::uint64_t size = 0;
    std::uint32_t crc32c = 0;
    /// The checksum of each tensor, to find the damaged one.
    std::vector<std::pair<std::string, std::uint32_t>> tensors = {};
  };
  int format_version = 0;
  std::string etude_version = {}, run_id = {};
  std::int64_t step = 0;
  std::uint64_t serial = 0;
  std::optional<double> score = {};
  std::vector<File> files = {};
};

/// Throws Error(data) for damaged text. Of a version newer than this library's, only format_version is read.
Manifest parse_manifest(std::string_view text, const std::string& path);

/// Opens a file of the checkpoint; throws Error(io) if it cannot.
using OpenCheckpointFile = std::function<std::shared_ptr<FileSource>(const std::string& name)>;

/// Compares each file with the manifest, one after another, piece by piece. `path` is the folder's name in errors.
/// Throws Error(data), naming the damaged file and if possible the damaged tensor, and the errors of `open`.
void verify_checkpoint(const Manifest& manifest, const OpenCheckpointFile& open, const std::string& path);

/// The checkpoint that a manifest describes; throws what verify_checkpoint does.
Checkpoint parse_checkpoint(const Manifest& manifest, const OpenCheckpointFile& open, const std::string& path);

/// The tensors of one group, each of which is read when it is asked for; their file was compared with the manifest.
/// Throws what verify_checkpoint does, and Error(data) if there is no such group.
std::vector<StoredTensor> stored_group(const Manifest& manifest, const std::string& group,
                                       const OpenCheckpointFile& open, const std::string& path);

/// The same of the newest checkpoint of a folder that has the group undamaged; none if there is no checkpoint. Warns
/// about damaged ones; throws Error(data) if all are damaged. `files` outlives the tensors.
std::optional<std::vector<StoredTensor>> newest_stored_group(const std::string& folder, const std::string& group,
                                                             Vfs& files);

}  // namespace etude
