#include <algorithm>
#include <optional>

#include "etude/base/detail/archive.hpp"
#include "etude/base/host.hpp"
#include "etude/data/cifar.hpp"
#include "etude/data/csv.hpp"
#include "etude/data/idx.hpp"
#include "etude/data/images.hpp"
#include "etude/data/npy.hpp"
#include "etude/data/npy_writer.hpp"
#include "etude/data/npz.hpp"
#include "files_in_memory.hpp"
#include "fuzz/readers.hpp"
#include "golden.hpp"
#include "safetensors_samples.hpp"
#include "training_samples.hpp"

namespace etude::testing {
namespace {

std::string npy_of(const Tensor& rows) {
  const FilesInMemory scope;
  NpyWriter writer("a.npy");
  writer.append(rows);
  writer.commit();
  return text_in(*scope.files, "a.npy");
}

/// A NumPy file with that header.
std::string npy_with(const std::string& header, const std::string& data) {
  const auto size = static_cast<unsigned char>(header.size());
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(size) + '\0' + header + data;
}

std::string idx_with(char type, const std::vector<std::uint8_t>& shape, std::size_t bytes) {
  std::string file{'\0', '\0', type, static_cast<char>(shape.size())};
  for (const std::uint8_t extent : shape) file += std::string(3, '\0') + static_cast<char>(extent);
  for (std::size_t i = 0; i < bytes; ++i) file += static_cast<char>(i * 37);
  return file;
}

std::string golden_file(const std::string& name) {
  const std::vector<std::byte> bytes = read_file(golden_path(name));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void read_npy_file(std::string_view bytes) { parse_npy(bytes_of(bytes), "a.npy"); }

FuzzInputs npy_inputs() {
  return {npy_of(samples::waves({3, 2})),
          npy_of(Tensor({2, 0, 3})),
          npy_of(samples::waves({4}).astype(DType::float64)),
          npy_of(samples::waves({2, 2}).astype(DType::boolean)),
          npy_with("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n",
                   std::string(16, '\1').replace(4, 4, 4, '\0').replace(12, 4, 4, '\0')),
          npy_with("{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3), }\n", "abcdef"),
          npy_with("{'descr': '<u2', 'fortran_order': False, 'shape': (1,)}", "ab")};
}

void read_idx_file(std::string_view bytes) { parse_idx(bytes_of(bytes)); }

FuzzInputs idx_inputs() {
  return {idx_with(0x08, {2, 3, 4}, 24), idx_with(0x09, {5}, 5), idx_with(0x0B, {3, 1}, 6), idx_with(0x0C, {2}, 8),
          idx_with(0x0D, {2, 2}, 16),    idx_with(0x0E, {1}, 8), idx_with(0x08, {0, 4}, 0)};
}

void read_npz_file(std::string_view bytes) { parse_npz(bytes_of(bytes), "a.npz"); }

FuzzInputs npz_inputs() {
  FuzzInputs inputs{golden_file("numpy.npz"), golden_file("numpy_compressed.npz")};
  const FilesInMemory scope;
  write_npz("a.npz", {{"a/b", samples::waves({3, 2})}, {"c", Tensor({}, DType::int32)}}, {.compressed = true});
  inputs.push_back(text_in(*scope.files, "a.npz"));
  return inputs;
}

void read_zip_file(std::string_view bytes) {
  const auto archive = open_archive(bytes_of(bytes), "a.zip");
  for (const ArchiveEntry& entry : archive->entries()) {
    archive->read_all(entry);
    archive->source(entry);
  }
}

FuzzInputs zip_inputs() {
  const auto archive = [](bool compress, std::uint64_t most) {
    const auto files = std::make_shared<MemoryVfs>();
    const auto writer = create_archive("a.zip", files);
    for (const char* name : {"config.json", "assets/größe"}) {
      writer->begin(name, compress, most);
      writer->append("{\"a\": [1, 1, 1, 1, 1, 1, 1, 1]}");
    }
    writer->commit();
    return text_in(*files, "a.zip");
  };
  constexpr std::uint64_t large = std::uint64_t{1} << 40;
  return {archive(false, 100), archive(true, 100), archive(true, large)};
}

void read_cifar(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  if (choice & 1)
    parse_cifar100(bytes_of(bytes), choice & 2 ? "fine" : "coarse");
  else
    parse_cifar10(bytes_of(bytes));
}

FuzzInputs cifar_inputs() {
  FuzzInputs inputs{"\3"};  // no image
  for (const char* before : {"\2\7", "\1\2\7", "\3\2\7"}) {
    std::string& input = inputs.emplace_back(before);
    input.append(std::size_t{3} * 32 * 32, '\5');
  }
  return inputs;
}

void read_gzip(std::string_view bytes) {
  const FilesInMemory scope;
  scope.files->open("a.gz", false)->append(bytes);
  read_idx("a.gz");
}

FuzzInputs gzip_inputs() {
  FuzzInputs inputs;
  for (const std::string& file : idx_inputs()) inputs.push_back(stored_gzip(file));
  const std::string file = idx_inputs().front();
  inputs.push_back(stored_gzip(file.substr(0, 9)) + stored_gzip(file.substr(9)));
  return inputs;
}

void read_image(std::string_view bytes) { utils::decode_image(bytes_of(bytes), "rgba"); }

FuzzInputs image_inputs() {
  FuzzInputs inputs;
  const nlohmann::json images = golden("images.json");
  for (const auto& [path, hex] : images.at("tree").items())
    if (!path.ends_with(".txt")) inputs.push_back(bytes_of_hex(hex));
  return inputs;
}

void read_csv_text(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  CsvOptions options{.delimiter = choice & 1 ? ";" : ",", .header = !(choice & 2)};
  if (choice & 4) options.label = options.header ? "y" : "0";
  if (choice & 8) options.missing = 0;
  if (choice & 16) options.columns = {options.header ? "x" : "1"};
  const std::size_t piece = choice & 32 ? 3 : 4096;
  CsvReader reader(options);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    reader.add(bytes_of(bytes.substr(0, piece)));
    while (reader.next()) continue;
  }
  reader.finish();
  while (reader.next()) continue;
}

FuzzInputs csv_inputs() {
  using namespace std::string_literals;
  return {"\0x,y\n1,2\n3,4\n"s,
          "\4x,y\r\n1.5,-2e3\r\n\r\n+.5,0\r\n"s,
          "\1a;\"b;c\";y\n1;2;3\n"s,
          "\2"
          "1,2\n3,4"s,
          "\x28x,y\n,1\n \"2\" ,3\n"s,
          "\x14y,x\n\"1\",\"2\"\n"s,
          "\0x,\"a \"\"quoted\"\" name\"\n1,2\n"s};
}

}  // namespace etude::testing
