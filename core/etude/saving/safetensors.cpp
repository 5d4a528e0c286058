#include "etude/saving/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/detail/json.hpp"
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
        entry.dtype, "\" - expected F32, F64, F16, BF16, I32, U8 or BOOL - convert it before.");
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

Tensor tensor_of(const TensorEntry& entry, std::span<const std::byte> data, std::size_t data_begin,
                 const std::string& path) {
  const Storing& storing = storing_of(entry, path);
  const std::uint64_t given = entry.end - entry.begin;
  const auto wanted = bytes_of(entry, storing.bytes);
  check(wanted == given, ErrorKind::data, "safetensors", '"', path, "\": \"", entry.name, "\" has ", given,
        " bytes at byte ", data_begin + entry.begin, " - expected as many as its shape and dtype ", entry.dtype,
        " require - the file is damaged.");
  Shape shape;
  for (const std::uint64_t extent : entry.shape) shape.append(static_cast<std::int64_t>(extent));
  Tensor tensor(shape, storing.dtype);
  const std::byte* from = data.data() + entry.begin;
  if (storing.bytes == 2) {
    widen(storing.name, from, tensor.data<float>());
    return tensor;
  }
  if (given) std::memcpy(tensor.raw(), from, static_cast<std::size_t>(given));
  if (storing.dtype == DType::boolean) {
    const auto* end = from + given;
    const auto* wrong = std::find_if(from, end, [](std::byte b) { return b > std::byte{1}; });
    check(wrong == end, ErrorKind::data, "safetensors", '"', path, "\": \"", entry.name,
          "\" holds a BOOL that is neither 0 nor 1 at byte ",
          data_begin + entry.begin + static_cast<std::size_t>(wrong - from),
          " - expected one of them - the file is damaged.");
  }
  return tensor;
}

/// Checks that each byte of the data belongs to exactly one tensor.
void check_places(const std::vector<TensorEntry>& entries, std::size_t data_begin, std::size_t size,
                  const std::string& path) {
  std::vector<const TensorEntry*> order;
  for (const TensorEntry& entry : entries) order.push_back(&entry);
  std::ranges::sort(order, {}, [](const TensorEntry* entry) { return std::pair(entry->begin, entry->end); });
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

}  // namespace

std::string safetensors_header(std::span<const NamedTensor> tensors,
                               const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[std::string(metadata_key)] = metadata;
  std::string text = metadata.empty() ? "{" : json_text(header);
  if (!metadata.empty()) text.pop_back();
  std::set<std::string_view> names;
  std::uint64_t begin = 0;
  check(tensors.size() <= tensors_limit, ErrorKind::value, "safetensors", tensors.size(),
        " tensors - expected at most ", tensors_limit, " - split them.");
  for (const auto& [name, tensor] : tensors) {
    check(name.size() <= name_limit && name != metadata_key, ErrorKind::value, "safetensors", "a tensor's name of ",
          name.size(), " bytes: \"", name.substr(0, 40), "\" - expected at most ", name_limit, ", and not \"",
          metadata_key, "\" - choose another.");
    check(names.insert(name).second, ErrorKind::value, "safetensors", "two tensors are named \"", name,
          "\" - expected unique names - rename one.");
    const std::uint64_t end = begin + tensor.bytes();
    const Json entry{{"dtype", format_name(tensor.dtype())},
                     {"shape", std::vector<std::int64_t>(tensor.shape().begin(), tensor.shape().end())},
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

Safetensors parse_safetensors(std::span<const std::byte> file, const std::string& path,
                              const std::function<bool(const std::string&)>& wanted) {
  check(file.size() >= length_bytes, ErrorKind::data, "safetensors", '"', path, "\" has ", file.size(),
        " bytes - expected at least 8 - the file is cut off.");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::to_integer<std::uint64_t>(file[i]) << 8 * i;
  check(length <= header_limit && length <= file.size() - length_bytes, ErrorKind::data, "safetensors", '"', path,
        "\" has a header of ", length, " bytes - expected at most ",
        std::min<std::uint64_t>(header_limit, file.size() - length_bytes), " - the file is damaged or cut off.");
  const auto header = file.subspan(length_bytes, static_cast<std::size_t>(length));
  const std::size_t data_begin = length_bytes + header.size();
  const auto data = file.subspan(data_begin);

  ParsedHeader parsed = parse_safetensors_header({reinterpret_cast<const char*>(header.data()), header.size()}, path);
  check_places(parsed.tensors, data_begin, data.size(), path);
  Safetensors result{.tensors = {}, .metadata = std::move(parsed.metadata)};
  result.tensors.reserve(parsed.tensors.size());
  for (TensorEntry& entry : parsed.tensors) {
    if (wanted && !wanted(entry.name)) continue;
    Tensor tensor = tensor_of(entry, data, data_begin, path);
    result.tensors.push_back({std::move(entry.name), std::move(tensor)});
  }
  return result;
}

void save_safetensors(const std::string& path, const Safetensors& contents, const std::shared_ptr<Vfs>& files) {
  const std::string header = safetensors_header(contents.tensors, contents.metadata);
  std::vector<std::string_view> pieces{header};
  for (const NamedTensor& named : contents.tensors)
    pieces.emplace_back(reinterpret_cast<const char*>(named.tensor.raw()), named.tensor.bytes());
  vfs_or_host(files, "save_safetensors")->replace(path, pieces);
}

Safetensors load_safetensors(const std::string& path, const std::shared_ptr<Vfs>& files) {
  return parse_safetensors(vfs_or_host(files, "load_safetensors")->read(path), path);
}

}  // namespace etude
