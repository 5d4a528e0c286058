#include "fuzz/tf_checkpoints.hpp"

#include <cstring>

#include "etude/base/detail/crc32c.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/etude.hpp"
#include "etude/saving/detail/tf_wire.hpp"
#include "files_in_memory.hpp"
#include "fuzz/readers.hpp"
#include "golden_path.hpp"
#include "safetensors_samples.hpp"

namespace etude::testing {
namespace {

constexpr std::size_t footer_bytes = 48, handles_bytes = 40, trailer_bytes = 5;
constexpr const char *index_file = "ckpt.index", *data_file = "ckpt.data-00000-of-00001",
                     *graph_key = "_CHECKPOINTABLE_OBJECT_GRAPH", *kernel_key = "layer_with_weights-0/kernel";

std::string fixed(std::uint64_t number, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(number >> 8 * i & 0xFF);
  return text;
}

std::string sum_of(std::uint32_t sum) { return fixed((sum >> 15 | sum << 17) + 0xa282ead8u, 4); }

/// The bytes of an entry's checksum, a field of eight bytes and more: the number of the field, and four bytes.
std::string sum_field(std::uint32_t sum) { return '\x35' + sum_of(sum); }

/// The checksum of a text: its length counts as four bytes.
std::uint32_t text_sum(std::string_view stored) {
  std::uint64_t length = 0;
  take_varint(stored, length);
  return crc32c(stored, crc32c(fixed(length, 4)));
}

std::string block_of(const TfEntries& entries) {
  std::string block, previous;
  for (const auto& [name, value] : entries) {
    std::size_t shared = 0;
    while (shared < std::min(name.size(), previous.size()) && name[shared] == previous[shared]) ++shared;
    block += varint(shared) + varint(name.size() - shared) + varint(value.size()) + name.substr(shared) + value;
    previous = name;
  }
  return block + fixed(0, 4) + fixed(1, 4);
}

std::string appended(std::string& file, const std::string& block, char compression) {
  const std::string handle = varint(file.size()) + varint(block.size());
  const std::string typed = block + compression;
  file += typed + sum_of(crc32c(typed));
  return handle;
}

/// Calls `change` with the place and the size of the value of each entry of a block, as far as it can be read.
template <class Change> void each_value(const std::string& file, std::size_t begin, std::size_t size, Change change) {
  if (size < 8) return;
  std::string_view rest = std::string_view(file).substr(begin, size - 8);
  while (!rest.empty()) {
    std::uint64_t shared = 0, added = 0, length = 0;
    if (!take_varint(rest, shared) || !take_varint(rest, added) || !take_varint(rest, length)) return;
    if (added > rest.size() || length > rest.size() - added) return;
    rest.remove_prefix(static_cast<std::size_t>(added));
    change(static_cast<std::size_t>(rest.data() - file.data()), static_cast<std::size_t>(length));
    rest.remove_prefix(static_cast<std::size_t>(length));
  }
}

/// The handle at a place: where a block begins, and its size. The size is 0 for one beyond the file.
std::pair<std::size_t, std::size_t> block_at(const std::string& file, std::size_t place) {
  std::string_view rest = std::string_view(file).substr(place);
  std::uint64_t begin = 0, size = 0;
  const bool is_handle = take_varint(rest, begin) && take_varint(rest, size);
  if (!is_handle || begin > file.size() || size > file.size() - begin || file.size() - begin - size < trailer_bytes)
    return {0, 0};
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(size)};
}

void repair_block(std::string& file, std::size_t begin, std::size_t size) {
  if (size == 0) return;
  file.replace(begin + size + 1, 4, sum_of(crc32c(std::string_view(file).substr(begin, size + 1))));
}

/// Corrects the checksum of an entry's bytes, if it is at the end of the entry.
void repair_entry(std::string& index, std::size_t at, std::size_t size, std::string_view data) {
  if (size < 5 || index[at + size - 5] != '\x35') return;
  const std::string entry = index.substr(at, size);
  std::uint64_t type = 0, offset = 0, bytes = 0;
  for (WireReader fields(entry, "entry"); fields.next();) {
    if (fields.field() == 1) type = fields.number();
    if (fields.field() == 4) offset = fields.number();
    if (fields.field() == 5) bytes = fields.number();
  }
  if (offset > data.size() || bytes > data.size() - offset) return;
  const std::string_view stored = data.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes));
  index.replace(at + size - 5, 5, sum_field(type == 7 ? text_sum(stored) : crc32c(stored)));
}

void repair_index(std::string& index, std::string_view data) {
  if (index.size() < footer_bytes) return;
  std::string_view footer = std::string_view(index).substr(index.size() - footer_bytes, handles_bytes);
  std::uint64_t number = 0;
  if (!take_varint(footer, number) || !take_varint(footer, number)) return;
  const std::size_t handle = static_cast<std::size_t>(footer.data() - index.data());
  const auto [first, first_size] = block_at(index, index.size() - footer_bytes);
  const auto [begin, size] = block_at(index, handle);
  std::vector<std::pair<std::size_t, std::size_t>> blocks;
  each_value(index, begin, size, [&](std::size_t at, std::size_t) { blocks.push_back(block_at(index, at)); });
  for (const auto& [block, block_size] : blocks) {
    std::vector<std::pair<std::size_t, std::size_t>> entries;
    each_value(index, block, block_size, [&](std::size_t at, std::size_t bytes) { entries.emplace_back(at, bytes); });
    for (const auto& [at, bytes] : entries) repair_entry(index, at, bytes, data);
    repair_block(index, block, block_size);
  }
  repair_block(index, first, first_size);
  repair_block(index, begin, size);
}

}  // namespace

std::string varint(std::uint64_t number) {
  std::string text;
  for (; number >= 0x80; number >>= 7) text += static_cast<char>((number & 0x7F) | 0x80);
  return text + static_cast<char>(number);
}

std::string field(unsigned number, std::uint64_t value) { return varint(number << 3) + varint(value); }

std::string field(unsigned number, std::string_view text) {
  return varint(number << 3 | 2) + varint(text.size()) + std::string(text);
}

std::string table_of(const std::vector<TfEntries>& blocks, char compression) {
  std::string file;
  TfEntries handles;
  for (const TfEntries& entries : blocks)
    handles.emplace_back(entries.back().first, appended(file, block_of(entries), compression));
  std::string footer = appended(file, block_of({}), 0) + appended(file, block_of(handles), 0);
  footer.resize(handles_bytes, '\0');
  return file + footer + fixed(0xdb4775248b80fb57, 8);
}

std::string entry_of(std::uint64_t type, const std::vector<std::uint64_t>& shape, std::uint64_t offset,
                     std::string_view bytes, const std::string& more) {
  std::string dims;
  for (const std::uint64_t extent : shape) dims += field(2, field(1, extent));
  return field(1, type) + field(2, dims) + field(4, offset) + field(5, bytes.size()) + more + sum_field(crc32c(bytes));
}

std::pair<std::string, std::string> text_entry(std::string_view text, std::uint64_t offset) {
  const std::string stored = varint(text.size()) + sum_of(crc32c(fixed(text.size(), 4))) + std::string(text);
  return {field(1, 7) + field(2, "") + field(4, offset) + field(5, stored.size()) + sum_field(text_sum(stored)),
          stored};
}

std::string object_of(const std::vector<std::pair<std::string, std::uint64_t>>& children) {
  std::string object;
  for (const auto& [name, number] : children) object += field(1, field(1, number) + field(2, name));
  return object;
}

std::string variable_of(const std::string& key) { return field(2, field(1, "VARIABLE_VALUE") + field(3, key)); }

TfSample::TfSample()
    : objects{object_of({{"layer_with_weights-0", 1}}), object_of({{"kernel", 2}}), variable_of(kernel_key)},
      kernel(entry_of(1, {2, 1}, 0, std::string_view("\0\0\x40\x40\0\0\x80\x40", 8))) {}

PackedFiles TfSample::files() const {
  std::string graph, data("\0\0\x40\x40\0\0\x80\x40", 8);
  for (const std::string& object : objects) graph += field(1, object);
  const auto [entry, stored] = text_entry(graph, data.size());
  TfEntries entries{{graph_key, entry}, {kernel_key, kernel}};
  entries.insert(entries.end(), more.begin(), more.end());
  return {{index_file, table_of({{{"", header}}, entries}, compression)}, {data_file, data + stored}};
}

std::string repaired_tf_checkpoint(const std::string& bytes) {
  PackedFiles files = unpacked(bytes);
  std::string data;
  for (const auto& [name, content] : files)
    if (name == data_file) data = content;
  for (auto& [name, content] : files) {
    if (name != index_file) continue;
    try {
      repair_index(content, data);
    } catch (const Error&) {
      continue;  // a damaged entry
    }
  }
  return pack(files);
}

void read_tf_checkpoint(std::string_view bytes) {
  static const std::unique_ptr<Model> model = [] {
    auto made = std::make_unique<Sequential>(
        std::vector<LayerPtr>{layers::dense({.units = 3}), layers::batch_normalization(), layers::dense({.units = 2})});
    made->build({-1, 4});
    return made;
  }();
  const FilesInMemory scope;
  host().files = folder_of(unpacked(bytes), "c");
  model->load_weights("c/ckpt");
}

FuzzInputs tf_checkpoint_inputs() {
  FuzzInputs inputs;
  for (const char* name : {"dense", "keras3"}) {
    const std::string path = golden_path("tf/" + std::string(name));
    inputs.push_back(pack({{index_file, text_of(read_file(path + ".index"))},
                           {data_file, text_of(read_file(path + ".data-00000-of-00001"))}}));
  }
  return inputs;
}

}  // namespace etude::testing
