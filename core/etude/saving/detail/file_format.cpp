#include "etude/saving/detail/file_format.hpp"

#include <algorithm>
#include <cctype>

#include "etude/base/detail/archive.hpp"
#include "etude/base/error.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude {
namespace {

using enum FileFormat;

/// What a refusal says of a format: what it is, and how to convert it. Code of Python is in quotes.
struct Refusal {
  FileFormat format;
  std::string_view is, advice;
};
constexpr Refusal refusals[]{
    {unknown, "is in a format that is not recognized", "check the path"},
    {etude_folder, "is a folder of checkpoints", "load it as a model"},
    {keras, "is a whole model of Keras", "load it as a model"},
    {hdf5, "is an HDF5 file", "check that it is one of Keras"},
    {safetensors, "is a file of safetensors", "load its weights into a model of the same layers"},
    {keras_shards, "is an index of weights in several files", "load them into a model of the same layers"},
    {safetensors_shards, "is an index of weights in several files", "load them into a model of the same layers"},
    {npz, "is an archive of arrays", "load its weights into a model of the same layers"},
    {tfjs, "is a model of TensorFlow.js", "load it as a model, by the path of its model.json"},
    {saved_model, "is a SavedModel of TensorFlow, which contains code",
     "in Python, save its weights by \"numpy.savez('weights', **{f'{i}/{v.name}': v for i, v in "
     "enumerate(tf.saved_model.load(path).variables)})\""},
    {tf_checkpoint, "is a checkpoint of TensorFlow",
     "load its weights in C++, or in Python save what \"tf.train.load_checkpoint(path)\" reads by \"numpy.savez\""},
    {pickle, "is a pickle of Python, which contains code",
     "in Python, save what \"torch.load(path, weights_only=True)\" returns by \"safetensors.torch.save_file\""},
    {onnx, "is a model of ONNX", "in Python, save its initializers by \"numpy.savez\""},
    {tflite, "is a model of TensorFlow Lite", "convert the model from which it was made"},
};

bool has_ending(const std::string& path, std::string_view ending) {
  if (path.size() < ending.size()) return false;
  return std::ranges::equal(std::string_view(path).substr(path.size() - ending.size()), ending,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

FileFormat format_by_name(const std::string& path) {
  struct Ending {
    std::string_view text;
    FileFormat format;
  };
  constexpr Ending endings[]{
      {".keras", keras},    {".h5", hdf5},           {".hdf5", hdf5},          {".npz", npz},
      {".pb", saved_model}, {".pbtxt", saved_model}, {".ckpt", tf_checkpoint}, {".index", tf_checkpoint},
      {".pt", pickle},      {".pth", pickle},        {".pkl", pickle},         {".pickle", pickle},
      {".onnx", onnx},      {".tflite", tflite},     {".json", tfjs},          {".safetensors", safetensors}};
  for (const auto& [text, format] : endings)
    if (has_ending(path, text)) return format;
  return unknown;
}

FileFormat format_of_archive(const std::string& path, const std::shared_ptr<FileSource>& source) {
  if (has_ending(path, ".npz")) return npz;
  if (has_ending(path, ".keras")) return keras;
  const auto archive = open_archive(source, path);
  if (archive->find("config.json") && archive->find("metadata.json")) return keras;
  const auto& entries = archive->entries();
  const auto all = [&](auto holds) {
    return !entries.empty() && std::ranges::all_of(entries, holds, &ArchiveEntry::name);
  };
  if (all([](const std::string& name) { return name.ends_with(".npy"); })) return npz;
  if (std::ranges::any_of(entries, [](const ArchiveEntry& entry) { return entry.name.ends_with("data.pkl"); }))
    return pickle;
  return unknown;
}

FileFormat format_of_folder(const std::string& path, Vfs& files) {
  const std::vector<std::string> names = files.list(path);
  // A checkpoint of Étude is a folder, also beside files of others.
  const auto is_checkpoint = [&](const std::string& name) {
    return name.starts_with("ckpt-") && files.kind(path + '/' + name) == PathKind::folder;
  };
  if (std::ranges::any_of(names, is_checkpoint)) return etude_folder;
  for (const std::string& name : names) {
    if (name == "saved_model.pb" || name == "saved_model.pbtxt") return saved_model;
    if (name == "model.json") return tfjs;
    if (name == "checkpoint" || name.ends_with(".index") || name.find(".data-00000-of-") != name.npos)
      return tf_checkpoint;
    if (name == "manifest.json") return etude_folder;
  }
  return unknown;
}

}  // namespace

std::string beginning_of(FileSource& source, std::uint64_t most) {
  std::string begin(static_cast<std::size_t>(std::min(source.size(), most)), ' ');
  source.read(0, std::as_writable_bytes(std::span(begin)));
  return begin;
}

std::string json_text_in(FileSource& source, const std::string& path) {
  check_json_size(source.size(), path);
  return beginning_of(source, source.size());
}

/// Reads only the beginning, except of archives, whose files it lists, and of JSON.
FileFormat format_of(const std::string& path, const std::shared_ptr<FileSource>& source, std::string* json) {
  constexpr std::size_t most = 4096, length_bytes = 8;
  std::string text = beginning_of(*source, most);
  if (text.starts_with("\x89HDF\r\n\x1a\n")) return hdf5;
  if (text.starts_with("PK\3\4") || text.starts_with("PK\5\6")) return format_of_archive(path, source);
  if (text.size() > length_bytes && text[length_bytes] == '{') return safetensors;
  if (text.substr(0, length_bytes).ends_with("TFL3")) return tflite;
  if (text.size() > 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5) return pickle;
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos || text[begin] != '{') return format_by_name(path);
  text = json_text_in(*source, path);
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  const FileFormat format = has("\"weightsManifest\"")                                             ? tfjs
                            : !has("\"weight_map\"")                                               ? unknown
                            : has(".safetensors\"") || has_ending(path, ".safetensors.index.json") ? safetensors_shards
                                                                                                   : keras_shards;
  if (json) *json = std::move(text);
  return format;
}

FileFormat format_of(const std::string& path, Vfs& files) {
  switch (files.kind_through_links(path)) {
    case PathKind::folder: return format_of_folder(path, files);
    case PathKind::file: return format_of(path, files.source(path));
    case PathKind::none: break;
  }
  return files.exists(path + ".index") ? tf_checkpoint : format_by_name(path);
}

void refuse_format(FileFormat format, const std::string& path, std::string_view where, std::string_view expected) {
  const auto* found = std::ranges::find(refusals, format, &Refusal::format);
  fail(ErrorKind::value, where, '"', path, "\" ", found->is, " - expected ", expected, " - ", found->advice, '.');
}

}  // namespace etude
