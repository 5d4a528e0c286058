#include "etude/saving/detail/weights_shards.hpp"

#include <algorithm>
#include <set>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/json.hpp"
#include "etude/saving/detail/safetensors_file.hpp"

namespace etude {
namespace {

constexpr std::size_t name_limit = 4096;

/// The name of a file in the folder of the index: it must not lead elsewhere.
std::string file_in_folder(const Json& json, const std::string& path) {
  const std::string name = json.is_string() ? json.get<std::string>() : "";
  check(!name.empty() && name.size() <= name_limit && name != "." && name != ".." &&
            name.find_first_of(std::string_view("/\\:\0", 4)) == name.npos,
        ErrorKind::data, path, "the file ", JsonExcerpt{json},
        ", which is no name in the folder of the index - expected the names of files beside it - check the index.");
  return name;
}

}  // namespace

ShardIndex parse_shard_index(std::string_view text, const std::string& path) {
  const Json json = parse_json(text, path);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  check(map != json.end() && map->is_object(), ErrorKind::data, path,
        "an index without \"weight_map\" - expected one of Keras or Hugging Face - check the file.");
  ShardIndex index;
  for (const auto& [name, files] : map->items()) {
    std::vector<std::string>& of_name = index[name];
    if (!files.is_array()) of_name.push_back(file_in_folder(files, path));
    for (const Json& file : files.is_array() ? files : Json::array()) of_name.push_back(file_in_folder(file, path));
  }
  return index;
}

KerasShards::KerasShards(const std::string& path, const std::string& where)
    : files_(vfs_or_host({}, where)),
      folder_(parent_of(path) + '/'),
      index_(parse_shard_index(json_text_in(*files_->source(path), path), path)) {}

std::vector<hdf5::Reader*> KerasShards::files_of(const std::string& group) {
  std::vector<hdf5::Reader*> result;
  const auto found = index_.find('/' + group);
  if (found == index_.end()) return result;
  for (const std::string& name : found->second) {
    std::unique_ptr<hdf5::Reader>& reader = opened_[name];
    if (!reader) reader = std::make_unique<hdf5::Reader>(files_->source(folder_ + name), folder_ + name);
    if (std::ranges::find(result, reader.get()) == result.end()) result.push_back(reader.get());
  }
  return result;
}

std::vector<StoredTensor> safetensors_shards(std::string_view text, const std::string& path, Vfs& files,
                                             const std::function<bool(const std::string& name)>& wanted) {
  const ShardIndex index = parse_shard_index(text, path);
  std::map<std::string, std::set<std::string>> names_in;  // each file
  for (const auto& [name, of_name] : index)
    if (wanted(name))
      for (const std::string& file : of_name) names_in[file].insert(name);
  std::vector<StoredTensor> result;
  for (const auto& [file, names] : names_in) {
    const std::string place = parent_of(path) + '/' + file;
    const auto is_named = [&](const std::string& name) { return names.contains(name); };
    SafetensorsFile shard = open_safetensors(files.source(place), place, is_named);
    std::set<std::string> found;
    for (const StoredTensor& tensor : shard.tensors) found.insert(tensor.name);
    for (const std::string& name : names)
      check(found.contains(name), ErrorKind::data, path, "no tensor \"", name, "\" in \"", file,
            "\" - expected the tensors that the index names - save them again.");
    std::ranges::move(shard.tensors, std::back_inserter(result));
  }
  return result;
}

}  // namespace etude
