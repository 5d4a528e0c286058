#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "etude/base/tensor.hpp"
#include "etude/base/vfs.hpp"

namespace etude {

/// A tensor and its name.
struct NamedTensor {
  /// Its name in the file.
  std::string name;
  /// Its values.
  Tensor tensor;
};

/// A file of the format safetensors: 8 bytes, little-endian, that say how long the header is; the header, a JSON object
/// of each tensor's dtype, shape and place; then the tensors' bytes, row-major and little-endian.
/// Source: github.com/huggingface/safetensors, README.
struct Safetensors {
  /// In the order of the file.
  std::vector<NamedTensor> tensors;
  /// Texts by name, which the file has besides tensors.
  std::map<std::string, std::string> metadata = {};
};

/// What stands before the tensors' bytes, filled up with spaces to a multiple of 64 bytes, so that they are aligned
/// where the file is mapped. The tensors follow in the given order, with nothing between them. Throws Error(value) for
/// a name that comes twice, is longer than 4096 bytes, is no UTF-8 or is "__metadata__".
std::string safetensors_header(std::span<const NamedTensor> tensors,
                               const std::map<std::string, std::string>& metadata);

/// The tensors of a file whose bytes are given, in memory of their own; `path` is what errors call it. F16 and BF16
/// become float32, which holds them exactly. Throws Error(data), with the byte, for all that the format forbids:
/// anything twice, a hole, an overlap, bytes left over, a size that does not fit; for a header longer than 100 MB, more
/// than a million tensors, ranks above 8; and for dtypes that Étude lacks. Nothing is allocated for data that is not
/// there.
Safetensors parse_safetensors(std::span<const std::byte> file, const std::string& path);

/// Writes a file so that readers see the old one or the new one, whole. Throws Error(io) where that fails.
void save_safetensors(const std::string& path, const Safetensors& contents, const std::shared_ptr<Vfs>& files = {});
/// Reads a file: Error(io) where it cannot be read, and what parse_safetensors throws.
Safetensors load_safetensors(const std::string& path, const std::shared_ptr<Vfs>& files = {});

}  // namespace etude
