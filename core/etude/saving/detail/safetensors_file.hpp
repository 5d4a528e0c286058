#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "etude/base/detail/stored_tensor.hpp"
#include "etude/base/file_source.hpp"
#include "etude/base/vfs.hpp"

namespace etude {

struct NamedTensor;

/// The contents of a file of safetensors, whose tensors are read when they are requested.
struct SafetensorsFile {
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// The contents of a source, of which only the header is read. `path` is the file's name in errors. Throws as
/// parse_safetensors does; reading a tensor throws Error(data) for a BOOL that is neither 0 nor 1.
SafetensorsFile open_safetensors(std::shared_ptr<FileSource> source, const std::string& path,
                                 const std::function<bool(const std::string& name)>& wanted = {});
/// The bytes before the tensors' data. Throws as safetensors_header does.
std::string header_of_tensors(const std::vector<StoredTensor>& tensors,
                              const std::map<std::string, std::string>& metadata);
/// Tensors in memory, which are shared.
std::vector<StoredTensor> stored_tensors(std::span<const NamedTensor> tensors);
/// Writes tensors as save_safetensors does, one after another.
void write_safetensors(const std::string& path, const std::vector<StoredTensor>& tensors,
                       const std::map<std::string, std::string>& metadata, Vfs& files);

}  // namespace etude
