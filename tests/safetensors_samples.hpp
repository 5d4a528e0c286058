#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "etude/saving/safetensors.hpp"

namespace etude::testing {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
/// A file's text.
inline std::string text_in(Vfs& files, const std::string& path) { return text_of(files.read(path)); }

/// A file with exactly that header and that data.
inline std::string safetensors_file(std::string_view header, std::string_view data = "") {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(std::uint64_t{header.size()} >> 8 * i & 0xFF);
  return length.append(header).append(data);
}

/// The file with these tensors.
inline std::string safetensors_file(const std::vector<NamedTensor>& tensors,
                                    const std::map<std::string, std::string>& metadata = {}) {
  std::string file = safetensors_header(tensors, metadata);
  for (const NamedTensor& named : tensors)
    file.append(reinterpret_cast<const char*>(named.tensor.raw()), named.tensor.bytes());
  return file;
}

/// A tensor of each dtype, of several ranks.
inline std::vector<NamedTensor> tensors_of_all_kinds() {
  return {{"dense/kernel", Tensor::from<float>({2, 3}, {1, -2, 3.5, 0, 1e-30f, 7})},
          {"iterations", Tensor::from<std::int32_t>({}, {-5})},
          {"bytes", Tensor::from<std::uint8_t>({3}, {0, 255, 7})},
          {"double", Tensor::from<double>({1, 1, 2}, {0.1, -1e300})},
          {"none", Tensor({0, 4})},
          {"größe \"q\"", Tensor(Shape{2}, DType::boolean)}};
}

}  // namespace etude::testing
