#include <algorithm>

#include "etude/base/detail/utf8.hpp"
#include "etude/base/error.hpp"
#include "etude/saving/hdf5/detail/hdf5_reader.hpp"

namespace etude::hdf5 {
namespace {

std::string fixed_text(std::span<const std::byte> bytes, bool padded_with_spaces) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.resize(padded_with_spaces ? text.find_last_not_of(' ') + 1 : std::min(text.find('\0'), text.size()));
  return text;
}

}  // namespace

std::vector<std::string> Reader::attributes(std::string_view path) {
  std::vector<std::string> names;
  visit_attributes(file_, object(path), [&](const AttributeParts& found) { names.push_back(found.name); });
  return names;
}

std::optional<std::string> Reader::text(std::string_view path, std::string_view name) {
  auto found = texts_of(object(path), std::string(name));
  if (!found) return {};
  check(found->size() == 1, ErrorKind::data, "hdf5", '"', file_.name(), "\": the attribute \"", name, "\" of \"", path,
        "\" has ", found->size(), " texts - expected one - check the file.");
  return std::move(found->front());
}

std::optional<std::vector<std::string>> Reader::texts(std::string_view path, std::string_view name) {
  const ObjectHeader header = object(path);
  auto found = texts_of(header, std::string(name));
  if (found) return found;
  std::map<std::string, std::vector<std::string>> parts;
  visit_attributes(file_, header, [&](const AttributeParts& attribute) {
    if (!attribute.name.starts_with(name) || attribute.name.size() == name.size()) return;
    const std::string number = attribute.name.substr(name.size());
    if (number.find_first_not_of("0123456789") == number.npos) parts[number] = texts_in(attribute);
  });
  for (std::size_t part = 0;; ++part) {
    const auto next = parts.find(std::to_string(part));
    if (next == parts.end()) return found;
    if (!found) found.emplace();
    std::ranges::move(next->second, std::back_inserter(*found));
  }
}

std::optional<std::vector<std::string>> Reader::texts_of(const ObjectHeader& object, const std::string& name) {
  std::optional<std::vector<std::string>> result;
  visit_attributes(file_, object, [&](const AttributeParts& attribute) {
    if (attribute.name != name) return;
    file_.require(!result, attribute.data.at(), "two attributes of one name", "unique names");
    result = texts_in(attribute);
  });
  return result;
}

std::vector<std::string> Reader::texts_in(const AttributeParts& attribute) {
  const std::uint64_t at = attribute.data.at();
  if (attribute.shared) file_.refuse(at, "an attribute of a type that objects share", "a type for each");
  std::vector<std::string> result;
  const std::optional<Shape> shape = shape_of(attribute.shape);
  if (!shape || shape->size() == 0) return result;  // Keras writes an empty list as numbers
  const Type type = type_of(attribute.type);
  const bool varying = type.kind == Type::Kind::varying_text;
  if (!varying && type.kind != Type::Kind::text) file_.refuse(at, "an attribute of numbers", "texts");
  const auto count = static_cast<std::uint64_t>(shape->size());
  Bytes data = attribute.data;
  data.require(count <= data.left() / type.size, "an attribute that is cut off", "more bytes");
  std::uint64_t all = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Bytes element = data.part(type.size);
    result.push_back(varying ? global_text(element)
                             : fixed_text(element.take(element.left()), type.padded_with_spaces));
    all += result.back().size();
    data.require(all <= file_.end(), "an attribute that repeats its texts", "a place for each text");
    data.require(is_utf8(result.back()), "a text that is not UTF-8", "UTF-8");
  }
  return result;
}

std::string Reader::global_text(Bytes reference) {
  const std::uint64_t length = reference.number(4), at = reference.address(), number = reference.number(4);
  if (length == 0) return "";
  const Collection& found = collection(at);
  const auto object = found.objects.find(number);
  reference.require(object != found.objects.end(), "a reference to a missing text", "one to a text in the file");
  Bytes bytes = object->second;
  const auto text = bytes.take(length);
  std::string result(reinterpret_cast<const char*>(text.data()), text.size());
  result.resize(std::min(result.find('\0'), result.size()));
  return result;
}

const Reader::Collection& Reader::collection(std::uint64_t at) {
  const auto known = collections_.find(at);
  if (known != collections_.end()) return known->second;
  constexpr std::size_t header_size = 16, alignment = 8;
  constexpr std::uint64_t collection_limit = 100'000'000;  // as of JSON, which these texts may be
  const std::vector<std::byte> begin = file_.begin_of(at, header_size);
  Bytes header(file_, at, begin);
  header.expect("GCOL");
  header.require(header.number(1) == 1, "a collection of an unknown version", "1");
  header.skip(3);
  const std::uint64_t size = header.number(8);
  header.require(size >= header_size, "a collection of an impossible size", "at least 16 bytes");
  header.require(size <= collection_limit, "texts of more than 100 MB", "less");
  Collection result{file_.structure(at, size, at), {}};
  Bytes bytes(file_, at, result.bytes);
  bytes.skip(header_size);
  while (bytes.left() >= header_size) {
    const std::uint64_t number = bytes.number(2);
    bytes.skip(6);  // the number of references, reserved
    const std::uint64_t length = bytes.number(8);
    if (number == 0) break;  // the free rest
    const Bytes object = bytes.part(length);
    bytes.require(result.objects.emplace(number, object).second, "two texts of one number", "one");
    bytes.skip(std::min<std::uint64_t>((alignment - length % alignment) % alignment, bytes.left()));
  }
  return collections_[at] = std::move(result);
}

}  // namespace etude::hdf5
