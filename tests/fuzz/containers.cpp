#include "fuzz/containers.hpp"

#ifdef ETUDE_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "etude/base/detail/crc32c.hpp"
#include "etude/base/error.hpp"
#include "safetensors_samples.hpp"

namespace etude::testing {
namespace {

constexpr std::string_view file_mark = "\n=file= ", manifest_file = "manifest.json", sum_begin = ",\n\"crc32c\":\"";

std::string little_endian(std::uint64_t number, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(number >> 8 * i & 0xFF);
  return text;
}

std::string hex(std::uint32_t number) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(number));
  return text;
}

/// Whether a safetensors header has its declared length.
bool header_ends(std::string_view file) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8 && i < file.size(); ++i)
    length |= std::uint64_t{static_cast<unsigned char>(file[i])} << 8 * i;
  if (length + 8 > file.size() || length > file.size()) return false;
  const std::string_view header = file.substr(8, static_cast<std::size_t>(length));
  const std::size_t last = header.find_last_not_of(' ');
  return last != header.npos && header[last] == '}';
}

/// A manifest whose entries match the other files.
std::string manifest_for(const std::string& text, const PackedFiles& files) {
  auto manifest = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!manifest.is_object() || !manifest.contains("files") || !manifest["files"].is_array())
    return repaired_manifest(text);
  for (auto& entry : manifest["files"]) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) continue;
    for (const auto& [name, bytes] : files) {
      if (!name.ends_with("/" + entry["name"].get<std::string>())) continue;
      entry["size"] = bytes.size();
      entry["crc32c"] = hex(crc32c(bytes));
    }
  }
  manifest.erase("crc32c");
  std::string body = manifest.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  body.resize(body.size() - std::min<std::size_t>(body.size(), 2));
  return repaired_manifest(body);
}

}  // namespace

std::string pack(const PackedFiles& files) {
  std::string packed;
  for (const auto& [name, bytes] : files) packed.append(file_mark).append(name).append("\n").append(bytes);
  return packed;
}

PackedFiles unpacked(std::string_view bytes) {
  PackedFiles files;
  for (std::size_t at = bytes.find(file_mark); at != bytes.npos;) {
    const std::size_t name = at + file_mark.size(), end = bytes.find('\n', name);
    if (end == bytes.npos) break;
    at = bytes.find(file_mark, end + 1);
    files.emplace_back(bytes.substr(name, end - name), bytes.substr(end + 1, std::min(at, bytes.size()) - end - 1));
  }
  return files;
}

PackedFiles files_in(Vfs& files, const std::string& folder) {
  PackedFiles result;
  for (const std::string& name : files.list(folder)) {
    const std::string path = folder + '/' + name;
    if (files.kind(path) == PathKind::file) result.emplace_back(name, text_of(files.read(path)));
    if (files.kind(path) == PathKind::folder)
      for (const auto& [inner, bytes] : files_in(files, path)) result.emplace_back(name + '/' + inner, bytes);
  }
  return result;
}

std::shared_ptr<MemoryVfs> folder_of(const PackedFiles& files, const std::string& folder) {
  const auto memory = std::make_shared<MemoryVfs>();
  memory->make_folders(folder);
  constexpr std::size_t longest_name = 255;  // as in file systems; a path of slashes would be a thousand folders
  for (const auto& [name, bytes] : files) {
    if (name.size() > longest_name) continue;
    try {
      const std::string path = folder + '/' + name;
      memory->make_folders(parent_of(path));
      memory->open(path, false)->append(bytes);
    } catch (const Error&) {
      continue;  // not a valid file name
    }
  }
  return memory;
}

std::string repaired_manifest(const std::string& text) {
  const std::string body = text.substr(0, text.rfind(sum_begin));
  return body + std::string(sum_begin) + hex(crc32c(body)) + "\"}\n";
}

std::string repaired_checkpoint(const std::string& bytes) {
  PackedFiles files = unpacked(bytes);
  for (auto& [name, content] : files)
    if (name.ends_with(".safetensors") && !header_ends(content)) content = repaired_safetensors(content);
  for (auto& [name, content] : files)
    if (name.ends_with(manifest_file)) content = manifest_for(content, files);
  return pack(files);
}

std::string repaired_safetensors(const std::string& bytes) {
  const std::size_t end = bytes.rfind("}}");
  if (bytes.size() < 8 || end == bytes.npos || end < 8) return bytes;
  return little_endian(end + 2 - 8, 8) + bytes.substr(8);
}

std::string repaired_cache_file(const std::string& bytes) {
  constexpr std::size_t digits = 16;
  const std::string checked = bytes.substr(std::min(digits, bytes.size()));
  return std::string(digits - 8, '0') + hex(crc32c(checked)) + checked;
}

#ifdef ETUDE_ZLIB

std::string stored_gzip(std::string_view bytes) {
  std::string result("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  const std::string_view block = bytes.substr(0, 0xFFFF);
  result += '\x01' + little_endian(block.size(), 2) + little_endian(~block.size() & 0xFFFF, 2);
  result += block;
  const auto* data = reinterpret_cast<const Bytef*>(block.data());
  return result + little_endian(crc32(0, data, static_cast<uInt>(block.size())), 4) + little_endian(block.size(), 4);
}

std::string repaired_gzip(const std::string& bytes) {
  constexpr std::size_t header = 10, most = std::size_t{1} << 16;
  if (bytes.size() < header) return bytes;
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return bytes;
  std::string expanded(most, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + header));
  stream.avail_in = static_cast<uInt>(bytes.size() - header);
  stream.next_out = reinterpret_cast<Bytef*>(expanded.data());
  stream.avail_out = static_cast<uInt>(most);
  const int code = inflate(&stream, Z_FINISH);
  expanded.resize(most - stream.avail_out);
  const std::size_t end = bytes.size() - stream.avail_in;
  inflateEnd(&stream);
  if (code != Z_STREAM_END) return bytes;
  const auto* data = reinterpret_cast<const Bytef*>(expanded.data());
  return bytes.substr(0, end) + little_endian(crc32(0, data, static_cast<uInt>(expanded.size())), 4) +
         little_endian(expanded.size(), 4);
}

std::string repaired_png(const std::string& bytes) {
  std::string result = bytes;
  if (!bytes.starts_with("\x89PNG\r\n\x1a\n")) return result;
  for (std::size_t at = 8; at + 12 <= result.size();) {
    const auto* chunk = reinterpret_cast<const Bytef*>(result.data() + at);
    const std::size_t size = std::size_t{chunk[0]} << 24 | chunk[1] << 16 | chunk[2] << 8 | chunk[3];
    if (size > result.size() - at - 12) break;
    const uLong sum = crc32(0, chunk + 4, static_cast<uInt>(size + 4));
    for (std::size_t i = 0; i < 4; ++i) result[at + 8 + size + i] = static_cast<char>(sum >> (24 - 8 * i));
    at += 12 + size;
  }
  return result;
}

#else

std::string repaired_png(const std::string& bytes) { return bytes; }
std::string stored_gzip(std::string_view bytes) { return std::string("\x1f\x8b", 2).append(bytes); }
std::string repaired_gzip(const std::string& bytes) { return bytes; }

#endif

}  // namespace etude::testing
