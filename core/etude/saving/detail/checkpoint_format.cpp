#include "etude/saving/detail/checkpoint_format.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <span>

#include "etude/base/detail/crc32c.hpp"
#include "etude/base/error.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/json.hpp"
#include "etude/saving/detail/safetensors_file.hpp"

namespace etude {
namespace {

constexpr std::string_view tensors_ending = ".safetensors", document_ending = ".json";
constexpr std::string_view sum_begin = ",\n\"crc32c\":\"", sum_end = "\"}\n";
constexpr std::size_t sum_digits = 8, sum_size = sum_begin.size() + sum_digits + sum_end.size();

std::string hex(std::uint32_t number) {
  std::string text(sum_digits, '0');
  for (std::size_t i = sum_digits; i-- > 0; number >>= 4) text[i] = "0123456789abcdef"[number & 0xF];
  return text;
}

/// Names are untrusted: none may lead out of the folder or to a file that is not the checkpoint's.
bool is_file_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !name.empty() && name.size() <= 100 && name.front() != '.' && std::ranges::all_of(name, plain);
}

std::string_view bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.raw()), tensor.bytes()};
}

ComposedFile compose(const Document& document) {
  ComposedFile file{document.name + std::string(document_ending), document.json};
  parse_json(file.head, file.name);
  return file;
}

/// The manifest's entry of a file. `tensors` gets the checksum of each tensor.
Json entry_of(const ComposedFile& file, Json& tensors) {
  std::uint64_t size = file.head.size();
  std::uint32_t sum = crc32c(file.head);
  for (const StoredTensor& stored : file.body) {
    const Tensor tensor = stored.read();
    size += tensor.bytes();
    sum = crc32c(bytes_of(tensor), sum);
    add_member(tensors, stored.name, hex(crc32c(bytes_of(tensor))));
  }
  return {{"name", file.name}, {"size", size}, {"crc32c", hex(sum)}};
}

ComposedFile compose_manifest(const Checkpoint& checkpoint, std::uint64_t serial, std::vector<Json> files) {
  Json manifest{{"format_version", checkpoint_format_version},
                {"etude_version", ETUDE_VERSION},
                {"run_id", checkpoint.run_id},
                {"step", checkpoint.step},
                {"serial", serial}};
  if (checkpoint.score && std::isfinite(*checkpoint.score))  // JSON has finite numbers only
    manifest["score"] = *checkpoint.score;
  manifest["files"] = std::move(files);
  std::string text = json_text(manifest, 1);
  text.resize(text.size() - 2);  // the last line, and the end of the one before
  const std::string sum = hex(crc32c(text));
  text.append(sum_begin).append(sum).append(sum_end);
  return {std::string(manifest_name), std::move(text)};
}

/// Fields of a JSON object that must exist and have the right type.
class Fields {
 public:
  Fields(const Json& object, const std::string& path) : object_(object), path_(path) {
    require(object.is_object(), "an object");
  }
  const Json& operator[](const char* name) const {
    const auto found = object_.find(name);
    require(found != object_.end(), name);
    return *found;
  }
  std::string text(const char* name) const {
    require((*this)[name].is_string(), name);
    return (*this)[name].get<std::string>();
  }
  std::uint64_t count(const char* name) const {
    require((*this)[name].is_number_unsigned(), name);
    return (*this)[name].get<std::uint64_t>();
  }
  std::uint32_t sum(const char* name) const { return sum_of((*this)[name], name); }
  std::uint32_t sum_of(const Json& given, const std::string& name) const {
    require(given.is_string(), name);
    const auto& text = given.get_ref<const std::string&>();
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    require(error == std::errc() && end == text.data() + text.size() && hex(number) == text, name);
    return number;
  }
  void require(bool ok, const std::string& name) const {
    check(ok, ErrorKind::data, "checkpoint", '"', path_, "\" lacks ", name,
          ", or has a value of another type - expected a ", "manifest of format version ", checkpoint_format_version,
          " - it was not written by Étude.");
  }

 private:
  const Json& object_;
  const std::string& path_;
};

Manifest::File parse_entry(const Json& json, const std::string& path) {
  const Fields fields(json, path);
  Manifest::File file{fields.text("name"), fields.count("size"), fields.sum("crc32c")};
  fields.require(is_file_name(file.name), "a file name");
  if (json.contains("tensors")) {
    fields.require(fields["tensors"].is_object(), "tensors");
    for (const auto& [name, sum] : fields["tensors"].items()) file.tensors.emplace_back(name, fields.sum_of(sum, name));
  }
  return file;
}

/// The damaged file's tensor, if it can be determined.
std::string damaged_tensor(const Manifest::File& file, const std::shared_ptr<FileSource>& source,
                           const std::string& path) {
  try {
    for (const StoredTensor& tensor : open_safetensors(source, path).tensors) {
      const auto told = std::ranges::find(file.tensors, tensor.name, &std::pair<std::string, std::uint32_t>::first);
      if (told != file.tensors.end() && told->second != crc32c(bytes_of(tensor.read())))
        return ", in the tensor \"" + tensor.name + '"';
    }
  } catch (const Error&) {
    return ", in its header";
  }
  return "";
}

std::uint32_t sum_of(FileSource& source) {
  constexpr std::uint64_t most = std::uint64_t{1} << 18;
  std::string buffer(static_cast<std::size_t>(std::min(source.size(), most)), ' ');
  std::uint32_t sum = 0;
  for (std::uint64_t done = 0; done < source.size(); done += buffer.size()) {
    buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), source.size() - done)));
    source.read(done, std::as_writable_bytes(std::span(buffer)));
    sum = crc32c(buffer, sum);
  }
  return sum;
}

void compare(const Manifest::File& file, const std::shared_ptr<FileSource>& source, const std::string& path) {
  check(source->size() == file.size, ErrorKind::data, "checkpoint", '"', path, "\" has ", source->size(),
        " bytes - expected ", file.size, ", as in its manifest - the file is damaged or cut off.");
  const std::uint32_t sum = sum_of(*source);
  if (sum == file.crc32c) return;
  fail(ErrorKind::data, "checkpoint", '"', path, "\" differs from the saved contents",
       damaged_tensor(file, source, path), ": CRC-32C ", hex(sum), " - expected ", hex(file.crc32c),
       " - the file is damaged.");
}

}  // namespace

const std::vector<NamedTensor>& Checkpoint::group(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &TensorGroup::name);
  check(found != tensors.end(), ErrorKind::data, "checkpoint", "no tensors \"", name, "\" in the checkpoint of step ",
        step, " - expected ", name, tensors_ending, " - check how it was saved.");
  return found->tensors;
}

const std::string& Checkpoint::document(std::string_view name) const {
  const auto found = std::ranges::find(documents, name, &Document::name);
  check(found != documents.end(), ErrorKind::data, "checkpoint", "no document \"", name,
        "\" in the checkpoint of step ", step, " - expected ", name, document_ending, " - check how it was saved.");
  return found->json;
}

void ComposedFile::visit_pieces(const std::function<void(std::string_view)>& visit) const {
  visit(head);
  for (const StoredTensor& stored : body) visit(bytes_of(stored.read()));
}

std::vector<ComposedFile> compose_checkpoint(const Checkpoint& checkpoint, std::uint64_t serial,
                                             std::vector<StoredGroup> groups) {
  std::vector<ComposedFile> files;
  std::vector<Json> entries;
  std::set<std::string> names{std::string(manifest_name)};
  const auto add = [&](ComposedFile file, bool has_tensors) {
    check(is_file_name(file.name) && names.insert(file.name).second, ErrorKind::value, "checkpoint", "a file named \"",
          file.name, "\" - expected letters, digits, _, - and ., and each name once - rename it.");
    Json sums = Json::object();
    entries.push_back(entry_of(file, sums));
    if (has_tensors) entries.back()["tensors"] = std::move(sums);
    files.push_back(std::move(file));
  };
  const auto add_group = [&](const std::string& name, std::vector<StoredTensor> tensors) {
    std::string header = header_of_tensors(tensors, {});
    add({name + std::string(tensors_ending), std::move(header), std::move(tensors)}, true);
  };
  for (const TensorGroup& group : checkpoint.tensors) add_group(group.name, stored_tensors(group.tensors));
  for (StoredGroup& group : groups) add_group(group.name, std::move(group.tensors));
  for (const Document& document : checkpoint.documents) add(compose(document), false);
  files.push_back(compose_manifest(checkpoint, serial, std::move(entries)));
  return files;
}

Manifest parse_manifest(std::string_view text, const std::string& path) {
  const bool ends =
      text.size() > sum_size && text.ends_with(sum_end) && text.substr(text.size() - sum_size).starts_with(sum_begin);
  const std::string_view body = text.substr(0, ends ? text.size() - sum_size : 0);
  check(ends && text.substr(body.size() + sum_begin.size(), sum_digits) == hex(crc32c(body)), ErrorKind::data,
        "checkpoint", '"', path,
        "\" does not end with its own CRC-32C - expected a whole manifest - the file is damaged or cut off.");
  const Json json = parse_json(text, path);
  const Fields fields(json, path);
  Manifest manifest{.format_version =
                        static_cast<int>(std::min<std::uint64_t>(fields.count("format_version"), 1 << 30))};
  if (manifest.format_version > checkpoint_format_version) return manifest;
  manifest.etude_version = fields.text("etude_version");
  manifest.run_id = fields.text("run_id");
  manifest.step = static_cast<std::int64_t>(fields.count("step"));
  manifest.serial = fields.count("serial");
  if (json.contains("score")) {
    fields.require(fields["score"].is_number(), "score");
    manifest.score = fields["score"].get<double>();
  }
  fields.require(fields["files"].is_array(), "files");
  for (const Json& entry : fields["files"]) manifest.files.push_back(parse_entry(entry, path));
  return manifest;
}

void verify_checkpoint(const Manifest& manifest, const OpenCheckpointFile& open, const std::string& path) {
  for (const Manifest::File& file : manifest.files) compare(file, open(file.name), path + '/' + file.name);
}

Checkpoint parse_checkpoint(const Manifest& manifest, const OpenCheckpointFile& open, const std::string& path) {
  Checkpoint checkpoint{.step = manifest.step, .tensors = {}, .run_id = manifest.run_id, .score = manifest.score};
  for (const Manifest::File& file : manifest.files) {
    const std::string file_path = path + '/' + file.name;
    const std::shared_ptr<FileSource> source = open(file.name);
    compare(file, source, file_path);
    if (file.name.ends_with(tensors_ending)) {
      TensorGroup& group = checkpoint.tensors.emplace_back();
      group.name = file.name.substr(0, file.name.size() - tensors_ending.size());
      for (StoredTensor& tensor : open_safetensors(source, file_path).tensors)
        group.tensors.push_back({std::move(tensor.name), tensor.read()});
    } else if (file.name.ends_with(document_ending)) {
      Document& document = checkpoint.documents.emplace_back();
      document.name = file.name.substr(0, file.name.size() - document_ending.size());
      document.json = json_text_in(*source, file_path);
    }
  }
  return checkpoint;
}

std::vector<StoredTensor> stored_group(const Manifest& manifest, const std::string& group,
                                       const OpenCheckpointFile& open, const std::string& path) {
  const std::string name = group + std::string(tensors_ending);
  const auto file = std::ranges::find(manifest.files, name, &Manifest::File::name);
  check(file != manifest.files.end(), ErrorKind::data, "checkpoint", "no \"", name, "\" in \"", path,
        "\" - expected the tensors ", group, " - check how it was saved.");
  const std::shared_ptr<FileSource> source = open(name);
  compare(*file, source, path + '/' + name);
  return open_safetensors(source, path + '/' + name).tensors;
}

}  // namespace etude
