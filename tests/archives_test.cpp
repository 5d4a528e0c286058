#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "golden.hpp"

// Files of other libraries that hold several arrays: .npz, and the binary files of CIFAR. zip_test.cpp tests archives.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;

std::string stored() {
  const auto bytes = read_file(golden_path("numpy.npz"));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::span<const std::byte> bytes_in(const std::string& text) { return std::as_bytes(std::span(text)); }

/// Images of CIFAR, with these labels before each; the pixels of channel c of image i are 3 i + c.
std::string images(const std::vector<std::string>& labels) {
  std::string file;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    file += labels[i];
    for (std::size_t channel = 0; channel < 3; ++channel) file += std::string(1024, static_cast<char>(3 * i + channel));
  }
  return file;
}

}  // namespace

TEST_CASE("npz: reads the arrays that NumPy saved", "[npz]") {
  for (const char* name : {"numpy.npz", "numpy_compressed.npz"}) {
    const auto arrays = read_npz(golden_path(std::string(name)));
    CHECK(arrays.size() == 3);
    CHECK(difference(arrays.at("x"), tensor_of({2, 3}, DType::float32, {0, 1, 2, 3, 4, 5})) == "");
    CHECK(difference(arrays.at("labels"), tensor_of({2}, DType::int32, {3, -1})) == "");
    CHECK(arrays.at("none").shape() == Shape{0, 2});
    CHECK(arrays.at("none").dtype() == DType::uint8);
  }
}

TEST_CASE("npz: written arrays are read to the bit, scalars and half precision too", "[npz]") {
  const FilesInMemory scope;
  const std::vector<std::pair<std::string, Tensor>> arrays{
      {"dense/kernel", tensor_of({2, 3}, DType::float32, {0, 1.5, -2, 3, 1e-30, 5})},
      {"step", tensor_of({}, DType::int32, {7})},
      {"exact", tensor_of({2}, DType::float64, {1.0 / 3, -1})},
      {"flags", tensor_of({3}, DType::boolean, {1, 0, 1})},
      {"none", Tensor({0, 2}, DType::uint8)}};
  for (const bool compressed : {false, true}) {
    write_npz("a.npz", arrays, {.compressed = compressed});
    const auto read = read_npz("a.npz");
    REQUIRE(read.size() == arrays.size());
    for (const auto& [name, array] : arrays) CHECK(same_bits(read.at(name), array));
  }
  write_npz("half.npz", {{"h", tensor_of({2}, DType::float16, {0.5, -65504})}});
  CHECK(same_bits(read_npz("half.npz").at("h"), Tensor::from<float>({2}, {0.5f, -65504.f})));
  CHECK_THAT(error_of([&] { write_npz("b.npz", {{"b", Tensor({1}, DType::bfloat16)}}); }),
             ContainsSubstring("an array of bfloat16"));
  CHECK_THAT(error_of([&] { write_npz("b.npz", {{"../b", Tensor({1})}}); }),
             ContainsSubstring("not a relative path without \"..\""));
  CHECK(scope.files->list(".") == std::vector<std::string>{"a.npz", "half.npz"});
}

TEST_CASE("npz: a changed byte, a cut file and other contents are errors", "[npz][errors]") {
  const std::string file = stored();
  const auto error = [](const std::string& text) { return error_of([&] { parse_npz(bytes_in(text)); }); };
  std::string changed = file;
  changed[file.find("\x93NUMPY") + 100] ^= 1;
  CHECK_THAT(error(changed), ContainsSubstring("[npz] a file with another checksum"));
  CHECK_THAT(error(file.substr(0, file.size() - 40)), ContainsSubstring("no directory of files"));
  CHECK_THAT(error("abc"), ContainsSubstring("no directory of files"));
  std::string renamed = file;
  for (std::size_t at = renamed.find("x.npy"); at != renamed.npos; at = renamed.find("x.npy", at + 1))
    renamed.replace(at, 5, "x.txt");
  CHECK_THAT(error(renamed), ContainsSubstring("the file \"x.txt\" - expected arrays"));
}

TEST_CASE("npz: arrays that expand beyond the limit are refused, all together", "[npz][errors]") {
  const auto file = read_file(golden_path("numpy_compressed.npz"));
  CHECK(parse_npz(file, "npz", 3000).size() == 3);
  CHECK_THAT(error_of([&] { parse_npz(file, "npz", 300); }),
             ContainsSubstring("with \"none.npy\"") && ContainsSubstring("expand to more than 300"));
  CHECK_THAT(error_of([&] { parse_npz(file, "npz", 100); }), ContainsSubstring("with \"x.npy\""));
}

TEST_CASE("CIFAR-10: images with their channels last, and labels [images, 1]", "[cifar]") {
  const FilesInMemory scope;
  scope.files->open("one.bin", false)->append(images({"\x03"}));
  scope.files->open("two.bin", false)->append(images({"\x09", std::string(1, '\0')}));
  const Batch read = read_cifar10({"one.bin", "two.bin"});
  CHECK(read.x.front().shape() == Shape{3, 32, 32, 3});
  CHECK(read.x.front().dtype() == DType::uint8);
  CHECK(numbers(read.y.front()) == std::vector<double>{3, 9, 0});
  CHECK(read.y.front().shape() == Shape{3, 1});
  constexpr std::int64_t image = 3 * 1024;
  CHECK(read.x.front().at(1) == 1);
  CHECK(read.x.front().at(image + 2) == 2);
  CHECK(read.x.front().at(3 * image - 1) == 5);
  CHECK(Dataset::from_tensor_slices(read).cardinality() == 3);
}

TEST_CASE("CIFAR-100: fine or coarse labels", "[cifar]") {
  const std::string file = images({"\x02\x63", "\x13\x07"});
  CHECK(numbers(parse_cifar100(bytes_in(file)).y.front()) == std::vector<double>{99, 7});
  CHECK(numbers(parse_cifar100(bytes_in(file), "coarse").y.front()) == std::vector<double>{2, 19});
  CHECK_THAT(error_of([&] { parse_cifar100(bytes_in(file), "all"); }), ContainsSubstring("label_mode = \"all\""));
}

TEST_CASE("CIFAR: incomplete files and other labels are errors", "[cifar][errors]") {
  const std::string file = images({"\x0a"});
  CHECK_THAT(error_of([&] { parse_cifar10(bytes_in(file)); }), ContainsSubstring("[CIFAR-10] the label 10"));
  CHECK_THAT(error_of([&] { parse_cifar10(bytes_in(file.substr(1))); }),
             ContainsSubstring("3072 bytes - expected a multiple of 3073"));
  CHECK(parse_cifar10({}).x.front().shape() == Shape{0, 32, 32, 3});
}

}  // namespace etude
