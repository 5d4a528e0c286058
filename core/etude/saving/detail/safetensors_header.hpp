#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace etude {

constexpr std::string_view metadata_key = "__metadata__";
constexpr std::size_t header_limit = 100'000'000, tensors_limit = 1'000'000, rank_limit = 8, name_limit = 4096;

/// A header's unchecked description of a tensor: [begin, end) are bytes of the data.
struct TensorEntry {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;
};

struct ParsedHeader {
  std::vector<TensorEntry> tensors;
  std::map<std::string, std::string> metadata;
};

/// The JSON header of a safetensors file, read in one pass. Throws Error(data) with `path` and the byte in the file for
/// an invalid header, for duplicate names and for values beyond the limits.
ParsedHeader parse_safetensors_header(std::string_view text, const std::string& path);

}  // namespace etude
