#include "etude/saving/detail/share_checkpoint.hpp"

#include <cstring>
#include <map>

#include "etude/saving/detail/checkpoint_format.hpp"

namespace etude {
namespace {

void add(std::string& bytes, std::string_view text) {
  const std::uint64_t size = text.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

/// Takes a text from the beginning of the bytes.
std::string_view take(std::string_view& bytes) {
  std::uint64_t size = 0;
  if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
  check(bytes.size() >= sizeof size && size <= bytes.size() - sizeof size, ErrorKind::internal, "share_checkpoint",
        "incomplete bytes - expected those of another rank - this is a defect of the library.");
  const std::string_view text = bytes.substr(sizeof size, static_cast<std::size_t>(size));
  bytes.remove_prefix(sizeof size + text.size());
  return text;
}

/// The names and contents of its files.
std::string bytes_of(const Checkpoint& checkpoint) {
  std::string bytes;
  for (const ComposedFile& file : compose_checkpoint(checkpoint, 0)) {
    std::string content;
    file.visit_pieces([&](std::string_view piece) { content += piece; });
    add(bytes, file.name);
    add(bytes, content);
  }
  return bytes;
}

Checkpoint checkpoint_in(std::string_view bytes) {
  constexpr const char* where = "the checkpoint of another rank";
  std::map<std::string, std::string_view> files;
  while (!bytes.empty()) {
    const std::string name(take(bytes));
    files[name] = take(bytes);
  }
  const Manifest manifest = parse_manifest(files[std::string(manifest_name)], where);
  const auto open = [&](const std::string& name) -> std::shared_ptr<FileSource> {
    return std::make_shared<MemorySource>(std::as_bytes(std::span(files[name])), nullptr);
  };
  return parse_checkpoint(manifest, open, where);
}

}  // namespace

void share_checkpoint(std::optional<Checkpoint>& checkpoint, Workers& workers, int root) {
  const bool own = workers.rank() == root;
  std::string bytes, all;
  if (own && checkpoint) bytes = bytes_of(*checkpoint);
  std::vector<std::size_t> sizes(static_cast<std::size_t>(workers.count()));
  std::size_t& size = sizes[static_cast<std::size_t>(root)];
  size = static_cast<std::size_t>(
      workers.all_gather(static_cast<std::int64_t>(bytes.size()))[static_cast<std::size_t>(root)]);
  all.resize(size);
  workers.all_gather(std::as_bytes(std::span(bytes)), sizes, std::as_writable_bytes(std::span(all)).data());
  if (own) return;
  checkpoint.reset();
  if (!all.empty()) checkpoint = checkpoint_in(all);
}

}  // namespace etude
