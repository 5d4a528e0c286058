#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/hdf5/detail/hdf5_reader.hpp"
#include "etude/saving/hdf5/detail/hdf5_writer.hpp"
#include "fuzz/readers.hpp"
#include "golden_path.hpp"
#include "safetensors_samples.hpp"

namespace etude::testing {
namespace {

/// Reads all texts and numbers of an object, and of the objects in it. What is refused does not stop it, except for a
/// wrong checksum: then `repaired_hdf5` needs its error.
void read_object(hdf5::Reader& file, const std::string& path, int depth) {
  const auto attempt = [](auto&& work) {
    try {
      work();
    } catch (const Error& error) {
      if (std::string_view(error.what()).find("checksum") != std::string_view::npos) throw;
    }
  };
  for (const std::string& name : file.attributes(path)) attempt([&] { file.texts(path, name); });
  if (file.kind(path) == hdf5::ObjectKind::dataset) file.read(file.dataset(path));
  if (file.kind(path) != hdf5::ObjectKind::group || depth == 0) return;
  for (const hdf5::Entry& entry : file.list(path))
    attempt([&] { read_object(file, path + '/' + entry.name, depth - 1); });
}

}  // namespace

void read_hdf5_file(std::string_view bytes) {
  const auto all = bytes_of(bytes);
  constexpr std::uint64_t expanded = std::uint64_t{1} << 14;
  hdf5::Reader file(std::make_shared<MemorySource>(std::vector<std::byte>(all.begin(), all.end())), "a", expanded);
  file.datasets();
  read_object(file, "", 3);
}

FuzzInputs hdf5_inputs() {
  hdf5::Writer writer;
  writer.dataset("layers/dense/vars/0", hdf5::Number::float32, {2, 3});
  writer.dataset("layers/dense/vars/1", hdf5::Number::bfloat16, {3});
  writer.dataset("optimizer/vars/0", hdf5::Number::int64, {});
  writer.text("layers/dense/vars", "name", "dense");
  writer.texts("layers", "layer_names", {"dense", "", "dense_1"});
  for (int i = 0; i < 9; ++i) writer.group("many/" + std::to_string(i));
  std::string file;
  writer.start([&](std::string_view bytes) { file += bytes; });
  writer.append(std::vector<std::byte>(24 + 6 + 8, std::byte{1}));
  writer.finish();
  FuzzInputs inputs{file};
  for (const char* name : {"chunks_new.h5", "names_new.h5", "keras_legacy.h5", "grows.h5"})
    inputs.push_back(text_of(read_file(golden_path("hdf5/" + std::string(name)))));
  return inputs;
}

std::string repaired_hdf5(const std::string& bytes) {
  std::string file = bytes;
  for (int i = 0; i < 20; ++i) {
    try {
      read_hdf5_file(file);
      break;
    } catch (const std::exception& error) {
      const std::string_view text = error.what(), before = ": the checksum ", at = " at byte ", right = " - expected ";
      const std::size_t begin = text.find(before), place = text.find(at), sum = text.find(right);
      if (begin == text.npos || place == text.npos || sum == text.npos) break;
      const std::uint64_t byte = std::stoull(std::string(text.substr(place + at.size()))),
                          number = std::stoull(std::string(text.substr(sum + right.size())));
      if (byte + 4 > file.size()) break;
      for (std::size_t k = 0; k < 4; ++k)
        file[static_cast<std::size_t>(byte) + k] = static_cast<char>(number >> 8 * k & 0xFF);
    }
  }
  return file;
}

}  // namespace etude::testing
