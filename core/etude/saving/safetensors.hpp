#pragma once

#include <cstddef>
#include <functional>
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

/// A file of the format safetensors: 8 bytes, little-endian, that hold the length of the header; the header, a JSON
/// object of each tensor's dtype, shape and place; then the tensors' bytes, row-major and little-endian.
/// Source: github.com/huggingface/safetensors, README.
struct Safetensors {
  /// The tensors in the order of the file.
  std::vector<NamedTensor> tensors;
  /// The file's metadata: texts by name.
  std::map<std::string, std::string> metadata = {};
};

/// The bytes before the tensors' data, padded with spaces to a multiple of 64 bytes, so that the data is aligned in a
/// mapped file. The tensors follow in the given order without gaps. Throws Error(value) for a name that is not unique,
/// is longer than 4096 bytes, is not UTF-8 or is "__metadata__".
std::string safetensors_header(std::span<const NamedTensor> tensors,
                               const std::map<std::string, std::string>& metadata);

/// The tensors of a file's bytes, copied into new memory; `path` is the file's name in errors. F16 and BF16 become
/// float32, which holds them exactly. Throws Error(data), with the byte, for everything that the format forbids:
/// duplicates, gaps, overlaps, trailing bytes, sizes that do not match; for a header longer than 100 MB, more than a
/// million tensors, ranks above 8; and for dtypes that Étude lacks. No memory is allocated for data that the file does
/// not contain. With `wanted`, only tensors of those names are decoded: others may have any dtype.
Safetensors parse_safetensors(std::span<const std::byte> file, const std::string& path,
                              const std::function<bool(const std::string& name)>& wanted = {});

/// Writes a file so that readers find the complete old one or the complete new one. Throws Error(io) on failure.
void save_safetensors(const std::string& path, const Safetensors& contents, const std::shared_ptr<Vfs>& files = {});
/// Reads a file: Error(io) if it cannot be read, and the errors of parse_safetensors.
Safetensors load_safetensors(const std::string& path, const std::shared_ptr<Vfs>& files = {});

}  // namespace etude
