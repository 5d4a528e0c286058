#include "etude/saving/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "etude/base/detail/heap_sort.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/detail/json.hpp"
#include "etude/saving/detail/safetensors_file.hpp"
#include "etude/saving/detail/safetensors_header.hpp"

namespace etude {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's bytes are copied as they are");

constexpr std::size_t alignment = 64, length_bytes = 8;

std::string_view format_name(DType dtype) {
  switch (dtype) {
    case DType::float32: return "F32";
    case DType::float64: return "F64";
    case DType::int32: return "I32";
    case DType::uint8: return "U8";
    case DType::boolean: return "BOOL";
    case DType::float16: return "F16";
    case DType::bfloat16: return "BF16";
  }
  return "";
}

/// How a file stores elements, and the dtype into which they are read.
struct Storing {
  std::string_view name;
  std::size_t bytes;
  DType dtype;
};
constexpr std::array storings{Storing{"F32", 4, DType::float32}, Storing{"F64", 8, DType::float64},
                              Storing{"F16", 2, DType::float32}, Storing{"BF16", 2, DType::float32},
                              Storing{"I32", 4, DType::int32},   Storing{"U8", 1, DType::uint8},
                              Storing{"BOOL", 1, DType::boolean}};

const Storing& storing_of(const TensorEntry& entry, const std::string& path) {
  const auto found = std::ranges::find(storings, entry.dtype, &Storing::name);
  check(found != storings.end(), ErrorKind::data, "safetensors", '"', path, "\": \"", entry.name, "\" has dtype \"",
        entry.dtype,
        "\" - expected F32, F64, F16, BF16, I32, U8 or BOOL - convert it before, or let a rule of load_weights' map "
        "rename it to an empty name, which leaves it out.");
  return *found;
}

void widen(std::string_view name, const std::byte* from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from + 2 * i, sizeof bits);
    to[i] = name == "F16" ? std::bit_cast<Float16>(bits) : static_cast<float>(std::bit_cast<BFloat16>(bits));
  }
}

/// The bytes of a shape; none if the number overflows.
std::optional<std::uint64_t> bytes_of(const TensorEntry& entry, std::size_t element) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
  std::uint64_t product = element;
  for (const std::uint64_t extent : entry.shape) {
    if (extent > most / product) return {};
    if (extent) product *= extent;  // a zero extent must not hide an overflow of the others
  }
  return std::ranges::find(entry.shape, 0u) == entry.shape.end() ? product : 0;
}

/// The place of a tensor in a file.
struct Place {
  std::shared_ptr<FileSource> source;
  /// Of its first byte.
  std::uint64_t begin;
  std::string path, name;
  const Storing* storing;
  Shape shape;
};

Place place_of(const TensorEntry& entry, const std::shared_ptr<FileSource>& source, std::uint64_t data_begin,
               const std::string& path) {
  const Storing& storing = storing_of(entry, path);
  const std::uint64_t given = entry.end - entry.begin;
  const auto wanted = bytes_of(entry, storing.bytes);
  check(wanted == given, ErrorKind::data, "safetensors", '"', path, "\": \"", entry.name, "\" has ", given,
        " bytes at byte ", data_begin + entry.begin, " - expected as many as its shape and dtype ", entry.dtype,
        " require - the file is damaged.");
  Shape shape;
  for (const std::uint64_t extent : entry.shape) shape.append(static_cast<std::int64_t>(extent));
  return {source, data_begin + entry.begin, path, entry.name, &storing, shape};
}

Tensor tensor_at(const Place& place) {
  Tensor tensor = Tensor::uninitialized(place.shape, place.storing->dtype);
  if (place.storing->bytes == 2) {
    constexpr std::size_t most = std::size_t{1} << 15;
    const auto floats = tensor.data<float>();
    std::vector<std::byte> buffer(2 * std::min(most, floats.size()));
    for (std::size_t done = 0; done < floats.size(); done += most) {
      const auto to = floats.subspan(done, std::min(most, floats.size() - done));
      place.source->read(place.begin + 2 * done, std::span(buffer).first(2 * to.size()));
      widen(place.storing->name, buffer.data(), to);
    }
    return tensor;
  }
  const std::span<std::byte> bytes(tensor.raw(), tensor.bytes());
  place.source->read(place.begin, bytes);
  if (place.storing->dtype == DType::boolean) {
    const auto wrong = std::ranges::find_if(bytes, [](std::byte b) { return b > std::byte{1}; });
    check(wrong == bytes.end(), ErrorKind::data, "safetensors", '"', place.path, "\": \"", place.name,
          "\" holds a BOOL that is neither 0 nor 1 at byte ",
          place.begin + static_cast<std::uint64_t>(wrong - bytes.begin()),
          " - expected one of them - the file is damaged.");
  }
  return tensor;
}

/// Checks that each byte of the data belongs to exactly one tensor.
void check_places(const std::vector<TensorEntry>& entries, std::uint64_t data_begin, std::uint64_t size,
                  const std::string& path) {
  std::vector<const TensorEntry*> order;
  for (const TensorEntry& entry : entries) order.push_back(&entry);
  heap_sort(order, {}, [](const TensorEntry* entry) { return std::pair(entry->begin, entry->end); });
  std::uint64_t reached = 0;
  for (const TensorEntry* entry : order) {
    check(entry->begin <= entry->end && entry->end <= size, ErrorKind::data, "safetensors", '"', path, "\": \"",
          entry->name, "\" lies at bytes ", entry->begin, " to ", entry->end, " of the data - expected a place in its ",
          size, " bytes - the file is damaged or cut off.");
    check(entry->begin == reached, ErrorKind::data, "safetensors", '"', path, "\": \"", entry->name,
          "\" begins at byte ", data_begin + entry->begin, " - expected ", data_begin + reached,
          ", where the one before it ends - the file is damaged.");
    reached = entry->end;
  }
  check(reached == size, ErrorKind::data, "safetensors", '"', path, "\" has ", size - reached, " bytes after byte ",
        data_begin + reached, " - expected none after the last tensor - the file is damaged.");
}

Safetensors read_all(SafetensorsFile file) {
  Safetensors result{.tensors = {}, .metadata = std::move(file.metadata)};
  result.tensors.reserve(file.tensors.size());
  for (StoredTensor& tensor : file.tensors) result.tensors.push_back({std::move(tensor.name), tensor.read()});
  return result;
}

}  // namespace

std::string header_of_tensors(const std::vector<StoredTensor>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[std::string(metadata_key)] = metadata;
  std::string text = metadata.empty() ? "{" : json_text(header);
  if (!metadata.empty()) text.pop_back();
  std::set<std::string_view> names;
  std::uint64_t begin = 0;
  check(tensors.size() <= tensors_limit, ErrorKind::value, "safetensors", tensors.size(),
        " tensors - expected at most ", tensors_limit, " - split them.");
  for (const auto& [name, shape, dtype, read] : tensors) {
    check(name.size() <= name_limit && name != metadata_key, ErrorKind::value, "safetensors", "a tensor's name of ",
          name.size(), " bytes: \"", name.substr(0, 40), "\" - expected at most ", name_limit, ", and not \"",
          metadata_key, "\" - choose another.");
    check(names.insert(name).second, ErrorKind::value, "safetensors", "two tensors are named \"", name,
          "\" - expected unique names - rename one.");
    const std::uint64_t end = begin + static_cast<std::uint64_t>(shape.size()) * size_of(dtype);
    const Json entry{{"dtype", format_name(dtype)},
                     {"shape", std::vector<std::int64_t>(shape.begin(), shape.end())},
                     {"data_offsets", {begin, end}}};
    text += (text.size() > 1 ? "," : "") + json_text(name) + ':' + json_text(entry);
    begin = end;
  }
  text += '}';
  text.append((alignment - (length_bytes + text.size()) % alignment) % alignment, ' ');
  check(text.size() <= header_limit, ErrorKind::value, "safetensors", "a header of ", text.size(),
        " bytes - expected at most ", header_limit, " - choose shorter names, or split the tensors.");
  std::string length(length_bytes, '\0');
  for (std::size_t i = 0; i < length_bytes; ++i)
    length[i] = static_cast<char>(std::uint64_t{text.size()} >> 8 * i & 0xFF);
  return length + text;
}

std::vector<StoredTensor> stored_tensors(std::span<const NamedTensor> tensors) {
  std::vector<StoredTensor> result;
  for (const auto& [name, tensor] : tensors)
    result.push_back({name, tensor.shape(), tensor.dtype(), [values = tensor] { return values; }});
  return result;
}

std::string safetensors_header(std::span<const NamedTensor> tensors,
                               const std::map<std::string, std::string>& metadata) {
  return header_of_tensors(stored_tensors(tensors), metadata);
}

SafetensorsFile open_safetensors(std::shared_ptr<FileSource> source, const std::string& path,
                                 const std::function<bool(const std::string&)>& wanted) {
  const std::uint64_t size = source->size();
  check(size >= length_bytes, ErrorKind::data, "safetensors", '"', path, "\" has ", size,
        " bytes - expected at least 8 - the file is cut off.");
  std::byte first[length_bytes];
  source->read(0, first);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::to_integer<std::uint64_t>(first[i]) << 8 * i;
  check(length <= header_limit && length <= size - length_bytes, ErrorKind::data, "safetensors", '"', path,
        "\" has a header of ", length, " bytes - expected at most ",
        std::min<std::uint64_t>(header_limit, size - length_bytes), " - the file is damaged or cut off.");
  std::string header(static_cast<std::size_t>(length), ' ');
  source->read(length_bytes, std::as_writable_bytes(std::span(header)));
  const std::uint64_t data_begin = length_bytes + length;

  ParsedHeader parsed = parse_safetensors_header(header, path);
  check_places(parsed.tensors, data_begin, size - data_begin, path);
  SafetensorsFile result{.tensors = {}, .metadata = std::move(parsed.metadata)};
  for (const TensorEntry& entry : parsed.tensors) {
    if (wanted && !wanted(entry.name)) continue;
    const Place place = place_of(entry, source, data_begin, path);
    result.tensors.push_back({entry.name, place.shape, place.storing->dtype, [place] { return tensor_at(place); }});
  }
  return result;
}

Safetensors parse_safetensors(std::span<const std::byte> file, const std::string& path,
                              const std::function<bool(const std::string&)>& wanted) {
  return read_all(open_safetensors(std::make_shared<MemorySource>(file, nullptr), path, wanted));
}

void write_safetensors(const std::string& path, const std::vector<StoredTensor>& tensors,
                       const std::map<std::string, std::string>& metadata, Vfs& files) {
  const std::string header = header_of_tensors(tensors, metadata);
  FileReplacement made(files, path);
  made.file().append(header);
  for (const StoredTensor& tensor : tensors) {
    const Tensor values = tensor.read();
    made.file().append({reinterpret_cast<const char*>(values.raw()), values.bytes()});
  }
  made.commit();
}

void save_safetensors(const std::string& path, const Safetensors& contents, const std::shared_ptr<Vfs>& files) {
  write_safetensors(path, stored_tensors(contents.tensors), contents.metadata, *vfs_or_host(files, "save_safetensors"));
}

Safetensors load_safetensors(const std::string& path, const std::shared_ptr<Vfs>& files) {
  return read_all(open_safetensors(vfs_or_host(files, "load_safetensors")->source(path), path));
}

}  // namespace etude
