#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "allocation_counter.hpp"
#include "etude/etude.hpp"
#include "etude/saving/hdf5/detail/hdf5_reader.hpp"
#include "etude/saving/hdf5/detail/hdf5_writer.hpp"
#include "golden_path.hpp"
#include "safetensors_samples.hpp"
#include "support.hpp"

// HDF5 files: those in tests/golden/hdf5, which h5py and Keras wrote, and our own, which check_hdf5.py reads by them.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using hdf5::Number;
using hdf5::ObjectKind;
using hdf5::Reader;
using hdf5::Writer;
using namespace testing;
using Texts = std::vector<std::string>;

std::string hdf5_path(const std::string& name) { return golden_path("hdf5/" + name); }

/// Reads a golden file from the system.
Reader golden_file(const std::string& name) { return {host().files->source(hdf5_path(name)), name}; }

std::shared_ptr<FileSource> source_of(std::string_view bytes) {
  const auto all = bytes_of(bytes);
  return std::make_shared<MemorySource>(std::vector<std::byte>(all.begin(), all.end()));
}

/// The names in a group, one after the other.
std::string listed(Reader& file, std::string_view group) {
  std::string names;
  for (const hdf5::Entry& entry : file.list(group)) names += entry.name + ' ';
  return names;
}

/// 1, 2, … in a shape.
Tensor counted(const Shape& shape, DType dtype) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < shape.size(); ++i) numbers.push_back(static_cast<double>(i + 1));
  return tensor_of(shape, dtype, numbers);
}

/// The weights of a Keras model with one layer and an optimizer, in two pieces.
std::string written_weights() {
  Writer writer;
  writer.dataset("layers/dense/vars/0", Number::float32, {2, 1});
  writer.dataset("layers/dense/vars/1", Number::float32, {1});
  writer.text("layers/dense/vars", "name", "dense");
  writer.dataset("optimizer/vars/0", Number::int32, {});
  writer.dataset("optimizer/vars/1", Number::float32, {});
  writer.text("optimizer/vars", "name", "sgd");
  writer.text("vars", "name", "größe");
  writer.dataset("others/half", Number::float16, {3});
  writer.dataset("others/bfloat16", Number::bfloat16, {1, 2});
  writer.dataset("others/bool", Number::boolean, {3});
  writer.dataset("others/none", Number::float64, {0, 4});
  writer.dataset("others/seed", Number::uint32, {2});
  writer.texts("others", "texts", {"a", "", "c"});
  std::string file;
  writer.start([&](std::string_view bytes) { file += bytes; });
  const Tensor kernel = counted({2, 1}, DType::float32), bias = counted({1}, DType::float32);
  const auto append = [&](const Tensor& tensor) { writer.append({tensor.raw(), tensor.bytes()}); };
  append(kernel);
  append(bias);
  append(tensor_of({}, DType::int32, {7}));
  append(tensor_of({}, DType::float32, {0.5}));
  append(counted({3}, DType::float16));
  append(counted({1, 2}, DType::bfloat16));
  append(tensor_of({3}, DType::boolean, {1, 0, 1}));
  const std::uint32_t seed[]{1, 4'000'000'000};
  writer.append(std::as_bytes(std::span(seed)).first(3));
  writer.append(std::as_bytes(std::span(seed)).subspan(3));
  writer.finish();
  CHECK(file.size() == writer.size());
  return file;
}

/// A file with datasets "a" and "b" of two floats each.
std::string two_datasets() {
  Writer writer;
  writer.dataset("a", Number::float32, {2});
  writer.dataset("b", Number::float32, {2});
  std::string file;
  writer.start([&](std::string_view bytes) { file += bytes; });
  writer.append(std::vector<std::byte>(16));
  return file;
}

std::string word(std::uint64_t number) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> 8 * i & 0xFF);
  return bytes;
}

/// The file with other bytes at the last place of these, which must be there.
std::string with(std::string file, const std::string& before, const std::string& after) {
  const std::size_t at = file.rfind(before);
  REQUIRE(at != file.npos);
  return file.replace(at, before.size(), after);
}

}  // namespace

TEST_CASE("hdf5: numbers of each type and byte order are those that h5py wrote", "[hdf5]") {
  for (const char* name : {"numbers_old.h5", "numbers_new.h5"}) {
    CAPTURE(name);
    Reader file = golden_file(name);
    for (const std::string order : {"little/", "big/"})
      for (const std::string number : {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}) {
        CAPTURE(order, number);
        const hdf5::Dataset dataset = file.dataset(order + number);
        CHECK(std::to_string(size_of(dataset.number)) == number.substr(1));
        CHECK(std::string(name_of(dataset.number)).substr(0, 1) == number.substr(0, 1));
        const Tensor read = file.read(dataset);
        CHECK(difference(read, counted({2, 3}, read.dtype())) == "");
        CHECK(difference(file.read(dataset, DType::float32), counted({2, 3}, DType::float32)) == "");
        std::vector<std::byte> raw(static_cast<std::size_t>(dataset.bytes()));
        file.read(dataset, raw);
        if (number == "i8") CHECK(raw[8] == std::byte{2});
      }
    CHECK(difference(file.read(file.dataset("bool")), tensor_of({2}, DType::boolean, {1, 0})) == "");
    CHECK(difference(file.read(file.dataset("bfloat16")), counted({2}, DType::bfloat16)) == "");
    CHECK(difference(file.read(file.dataset("scalar")), tensor_of({}, DType::float32, {3})) == "");
    CHECK(file.read(file.dataset("none")).shape() == Shape{2, 0});
  }
}

TEST_CASE("hdf5: chunks of each index and filter are put together as h5py divided them", "[hdf5]") {
  for (const char* name : {"chunks_old.h5", "chunks_new.h5"}) {
    Reader file = golden_file(name);
    for (const char* path : {"plain", "one", "filtered", "checked", "swapped", "early", "compact"}) {
      CAPTURE(name, path);
      CHECK(difference(file.read(file.dataset(path), DType::float32), counted({5, 7}, DType::float32)) == "");
    }
    const Tensor pages = file.read(file.dataset("pages"), DType::int32);
    CHECK(pages.size() == (std::string(name) == "chunks_old.h5" ? 150 : 1100));
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < pages.size(); ++i) wrong += pages.at(i) != static_cast<double>((i + 1) % 256);
    CHECK(wrong == 0);
  }
}

TEST_CASE("hdf5: names and attributes are those that h5py wrote, also where they are stored apart", "[hdf5]") {
  for (const char* name : {"names_old.h5", "names_new.h5"}) {
    CAPTURE(name);
    Reader file = golden_file(name);
    CHECK(listed(file, "") == "few many ");
    CHECK(listed(file, "few") == "g0 g1 g2 ");
    CHECK(listed(file, "/many/") == "g0 g1 g10 g11 g12 g13 g14 g15 g16 g17 g18 g19 g2 g3 g4 g5 g6 g7 g8 g9 ");
    CHECK(file.kind("many/g19") == ObjectKind::group);
    CHECK_FALSE(file.kind("many/g20"));
    CHECK_FALSE(file.kind("few/g0/x"));
    CHECK(file.attributes("").size() == 10);
    CHECK(file.text("", "text") == "größe");
    CHECK(file.text("", "bytes") == "jax");
    CHECK(file.text("", "fixed") == "fixed");
    CHECK(file.text("", "empty") == "");
    CHECK_FALSE(file.text("", "other"));
    CHECK(file.texts("", "texts") == Texts{"dense", "", "dense_1"});
    CHECK(file.texts("", "fixed_texts") == Texts{"kernel", "bias"});
    CHECK(file.texts("", "none") == Texts{});
    CHECK(file.texts("", "parts") == Texts{"a", "b", "c"});
    CHECK_THROWS_WITH(file.text("", "number"), ContainsSubstring("an attribute of numbers"));
    CHECK_THROWS_WITH(file.text("", "texts"), ContainsSubstring("has 3 texts"));
  }
}

TEST_CASE("hdf5: the weights that Keras saved are read, of both of its forms", "[hdf5]") {
  Reader weights = golden_file("keras.weights.h5");
  CHECK(weights.datasets() ==
        Texts{"layers/dense/vars/0", "layers/dense/vars/1", "optimizer/vars/0", "optimizer/vars/1"});
  CHECK(difference(weights.read(weights.dataset("layers/dense/vars/0")), counted({2, 1}, DType::float32)) == "");
  CHECK(weights.text("layers/dense/vars", "name") == "dense");

  Reader legacy = golden_file("keras_legacy.h5");
  CHECK(legacy.text("", "model_config")->starts_with(R"({"class_name": "Sequential")"));
  CHECK(legacy.text("model_weights", "keras_version") == "3.15.1");
  CHECK(legacy.texts("model_weights", "layer_names") == Texts{"dense"});
  CHECK(legacy.texts("model_weights/top_level_model_weights", "weight_names") == Texts{});
  const Texts names = legacy.texts("model_weights/dense", "weight_names").value();
  CHECK(names == Texts{"sequential/dense/kernel", "sequential/dense/bias"});
  for (const std::string& name : names) CHECK(legacy.kind("model_weights/dense/" + name) == ObjectKind::dataset);
}

TEST_CASE("hdf5: addresses beyond the file, and structures that Keras does not write, are refused (R1, R7)", "[hdf5]") {
  const std::pair<const char*, const char*> refused[]{{"soft", "a link to a path"},
                                                      {"outside", "a link to a path or to another file"},
                                                      {"external", "data is in other files"},
                                                      {"virtual", "a virtual dataset"},
                                                      {"varying", "varying"},
                                                      {"texts", "a dataset of texts"},
                                                      {"records", "records"},
                                                      {"references", "references"},
                                                      {"complex", "records"},
                                                      {"bytes", "bytes without a meaning"},
                                                      {"unwritten", "without data"},
                                                      {"partly", "without some of its data"},
                                                      {"lzf", "filter 32000"},
                                                      {"of_shared_type", "objects share"},
                                                      {"shared_type", "is no dataset"},
                                                      {"missing", "has no \"missing\""}};
  for (const char* name : {"refused_old.h5", "refused_new.h5"}) {
    Reader file = golden_file(name);
    for (const auto& [path, text] : refused) {
      CAPTURE(name, path);
      CHECK_THROWS_WITH(file.dataset(path), ContainsSubstring(text));
    }
    CHECK(difference(file.read(file.dataset("group/loop/right")), counted({2}, DType::float32)) == "");
    CHECK(file.kind("soft") == ObjectKind::other);
    CHECK_FALSE(file.kind("outside/right"));
    CHECK_THROWS_WITH(file.datasets(), ContainsSubstring("in several groups, or in itself"));
  }
  Reader grows = golden_file("grows.h5");
  for (const char* path : {"one", "two"}) CHECK_THROWS_WITH(grows.dataset(path), ContainsSubstring("that can grow"));
}

TEST_CASE("hdf5: a file that ends anywhere, or is another one, is an error of the data (R3, R9)", "[hdf5]") {
  const std::string whole = text_of(read_file(hdf5_path("numbers_new.h5")));
  for (std::size_t size = 0; size < whole.size(); size += 61) {
    try {
      Reader(source_of(whole.substr(0, size)), "a");
      FAIL(size);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::data);
    }
  }
  CHECK_THROWS_WITH(Reader(source_of(std::string(200, 'x')), "a.h5"),
                    ContainsSubstring("\"a.h5\" does not begin as an HDF5"));
  Reader damaged(source_of(with(whole, "scalar", "Scalar")), "a");
  CHECK_THROWS_WITH(damaged.list(""), ContainsSubstring("the checksum"));
}

TEST_CASE("hdf5: a declared size allocates nothing that the file does not hold (R3)", "[hdf5]") {
  const std::string file = two_datasets();
  const LimitedAllocations limit(std::size_t{1} << 16);
  // The shape of "b", then also its bytes.
  const std::string shape = with(file, word(2), word(std::uint64_t{1} << 40));
  CHECK_THROWS_WITH(Reader(source_of(shape), "a").dataset("b"), ContainsSubstring("another size than its shape"));
  const std::string at = word(file.size() - 8), bytes = with(shape, at + word(8), at + word(std::uint64_t{1} << 42));
  CHECK_THROWS_WITH(Reader(source_of(bytes), "a").dataset("b"), ContainsSubstring("ends beyond the file"));
  const std::string most = with(file, word(2), word(std::uint64_t{1} << 61));
  CHECK_THROWS_WITH(Reader(source_of(most), "a").dataset("b"), ContainsSubstring("too many elements"));
  // Compressed data is limited in all.
  const std::string chunks = text_of(read_file(hdf5_path("chunks_old.h5")));
  Reader little(source_of(chunks), "a", 300);
  CHECK(little.dataset("one").bytes() == 140);
  CHECK(little.dataset("one").bytes() == 140);
  CHECK_THROWS_WITH(little.dataset("filtered"), ContainsSubstring("expand to more than 300 bytes"));
}

TEST_CASE("hdf5: no byte belongs to two structures (R5)", "[hdf5]") {
  const std::string file = two_datasets();
  const std::uint64_t b = file.size() - 8, a = b - 8;
  Reader both(source_of(with(file, word(b), word(a))), "a");
  CHECK(both.dataset("a").bytes() == 8);
  CHECK_THROWS_WITH(both.dataset("b"), ContainsSubstring("overlaps another one"));
  CHECK_THROWS_WITH(Reader(source_of(with(file, word(b), word(8))), "a").dataset("b"), ContainsSubstring("overlaps"));
}

TEST_CASE("hdf5: reading takes memory for one tensor, or one chunk", "[hdf5]") {
  constexpr std::size_t rows = 1 << 16;
  Writer writer;
  for (const char* name : {"a", "b", "c"}) writer.dataset(name, Number::float32, {rows});
  std::string text;
  writer.start([&](std::string_view bytes) { text += bytes; });
  for (int i = 0; i < 3; ++i) writer.append(std::vector<std::byte>(4 * rows));
  Reader file(std::make_shared<PartSource>(source_of("before" + text), 6, text.size()), "a");
  Tensor into(Shape{rows}), half({rows}, DType::float16);
  const std::size_t before = allocated_bytes();
  for (const char* name : {"a", "b", "c"}) {
    file.read(file.dataset(name), into);
    file.read(file.dataset(name), half);
  }
  CHECK(allocated_bytes() - before < std::size_t{1} << 18);
}

TEST_CASE("hdf5: numbers become other dtypes if they fit", "[hdf5]") {
  Reader file(source_of(written_weights()), "a");
  const hdf5::Dataset seed = file.dataset("others/seed"), half = file.dataset("others/half");
  CHECK_THROWS_WITH(file.read(seed),
                    ContainsSubstring("\"others/seed\" holds the number 4000000000 - expected one that fits int32"));
  CHECK(file.read(seed, DType::float64).at(1) == 4e9);
  CHECK(difference(file.read(half, DType::bfloat16), counted({3}, DType::bfloat16)) == "");
  CHECK_THROWS_WITH(file.read(half, DType::int32),
                    ContainsSubstring("has dtype float16 - expected one that becomes int32"));
  Tensor wrong(Shape{4});
  CHECK_THROWS_WITH(file.read(half, wrong), ContainsSubstring("has shape [3] - expected [4]"));
}

TEST_CASE("hdf5: the file for Keras has the bytes that h5py and Keras were checked with", "[hdf5]") {
  const std::string file = written_weights();
  CHECK(file == text_of(read_file(hdf5_path("etude.weights.h5"))));
  Reader read(source_of(file), "a");
  CHECK(difference(read.read(read.dataset("others/bool")), tensor_of({3}, DType::boolean, {1, 0, 1})) == "");
  CHECK(read.text("vars", "name") == "größe");
}

TEST_CASE("writes the HDF5 file that tests/golden/check_hdf5.py reads", "[.][hdf5_golden]") {
  host().files->replace(hdf5_path("etude.weights.h5"), {written_weights()});
}

TEST_CASE("hdf5: a group of many names and long texts is read as it was written, and each part of it once", "[hdf5]") {
  Writer writer;
  std::string names, text;
  for (int i = 100; i < 400; ++i) {
    const std::string name = std::to_string(i), path = "g/" + name;
    writer.group(path);
    writer.texts(path, "texts", {name, std::string(static_cast<std::size_t>(5 * i), 'x')});
    names += name + ' ';
  }
  writer.start([&](std::string_view bytes) { text += bytes; });
  writer.finish();
  Reader file(source_of(text), "a");
  CHECK(listed(file, "g") == names);
  CHECK(file.texts("g/399", "texts")->at(1).size() == 5 * 399);
  CHECK(file.texts("g/100", "texts")->at(0) == "100");
  // A tree whose second child is its first one: with 64 levels it would have 2^64 leaves.
  const std::size_t tree = text.find(std::string("TREE\0\1", 6)), first = tree + 32, second = tree + 48;
  text.replace(second, 8, text.substr(first, 8));
  CHECK_THROWS_WITH(Reader(source_of(text), "a").list("g"),
                    ContainsSubstring("overlaps another one, or contains itself"));
}

TEST_CASE("hdf5: data that a file cannot hold is refused when it is declared or appended", "[hdf5]") {
  Writer writer;
  writer.dataset("a/b", Number::float32, {2});
  CHECK_THROWS_WITH(writer.dataset("a/b", Number::float32, {2}), ContainsSubstring("\"a/b\" exists"));
  CHECK_THROWS_WITH(writer.dataset("a", Number::float32, {2}), ContainsSubstring("exists"));
  CHECK_THROWS_WITH(writer.group("a/b"), ContainsSubstring("is a dataset"));
  CHECK_THROWS_WITH(writer.group("a/b/c"), ContainsSubstring("no dataset before the last one"));
  CHECK_THROWS_WITH(writer.group("../x"), ContainsSubstring("\"..\" in a path"));
  CHECK_THROWS_WITH(writer.group("\xFF"), ContainsSubstring("expected UTF-8"));
  writer.text("a", "name", "x");
  CHECK_THROWS_WITH(writer.text("a", "name", "y"), ContainsSubstring("a second attribute \"name\""));
  CHECK_THROWS_WITH(writer.texts("a", "names", Texts(5000)), ContainsSubstring("divide them"));
  std::string file;
  CHECK_THROWS_WITH(writer.append({}), ContainsSubstring("before the descriptions"));
  writer.start([&](std::string_view bytes) { file += bytes; });
  CHECK_THROWS_WITH(writer.group("c"), ContainsSubstring("after the descriptions are complete"));
  writer.append(std::vector<std::byte>(4));
  CHECK_THROWS_WITH(writer.finish(), ContainsSubstring("after the data of 0 datasets - expected 1"));
  CHECK_THROWS_WITH(writer.append(std::vector<std::byte>(5)), ContainsSubstring("after the data of the last dataset"));
}

}  // namespace etude
