#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/memory_vfs.hpp"

namespace etude::testing {

/// Several files as one input of a fuzzer: for each a line with a mark and its name, then its bytes.
using PackedFiles = std::vector<std::pair<std::string, std::string>>;
std::string pack(const PackedFiles& files);
PackedFiles unpacked(std::string_view bytes);

/// The files of a folder.
PackedFiles files_in(Vfs& files, const std::string& folder);
/// Files in memory, in such a folder.
std::shared_ptr<MemoryVfs> folder_of(const PackedFiles& files, const std::string& folder);

/// The same files of a checkpoint, with correct sizes and checksums in its manifest.
std::string repaired_checkpoint(const std::string& bytes);
/// A manifest that ends with its own checksum.
std::string repaired_manifest(const std::string& text);
/// gzip data with a correct checksum and size, as far as it can be decompressed.
std::string repaired_gzip(const std::string& bytes);
/// A PNG file with correct checksums of its chunks; other bytes as they are.
std::string repaired_png(const std::string& bytes);
/// A file of class CacheFolder with a correct checksum.
std::string repaired_cache_file(const std::string& bytes);
/// The same bytes as uncompressed gzip data.
std::string stored_gzip(std::string_view bytes);
/// A safetensors file whose header has its declared length.
std::string repaired_safetensors(const std::string& bytes);

}  // namespace etude::testing
