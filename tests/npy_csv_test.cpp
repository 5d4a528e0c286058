#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "data_samples.hpp"
#include "etude/data/csv.hpp"
#include "etude/data/data.hpp"
#include "etude/data/npy.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

/// A .npy file in NumPy's format.
template <class T> std::string npy(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(118 - 1, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return file;
}

Tensor parsed(const std::string& file) { return parse_npy(std::as_bytes(std::span(file))); }

/// A file that exists during the lifetime of this object.
struct TemporaryFile {
  std::string path;
  explicit TemporaryFile(const std::string& text) {
    static int number = 0;
    path = (std::filesystem::temp_directory_path() / ("etude_data_test_" + std::to_string(++number))).string();
    std::ofstream(path, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
};

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < tensor.size(); ++i) result.push_back(tensor.at(i));
  return result;
}

/// x and y of every line in sequence; the text arrives in pieces of `size` bytes.
std::vector<double> csv(const std::string& text, const CsvOptions& options = {}, std::size_t size = 1000) {
  struct Pieces : ByteSource {
    std::string rest;
    std::size_t size;
    Pieces(std::string t, std::size_t s) : rest(std::move(t)), size(s) {}
    std::optional<std::vector<std::byte>> consume() override {
      if (rest.empty()) return {};
      const std::string piece = rest.substr(0, size);
      rest.erase(0, piece.size());
      const auto bytes = std::as_bytes(std::span(piece));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    }
  };
  std::vector<double> result;
  for (const Batch& element : csv_dataset([=] { return std::make_unique<Pieces>(text, size); }, options, false)) {
    for (const double x : numbers(element.x[0])) result.push_back(x);
    if (!element.y.empty()) result.push_back(element.y[0].at(0));
  }
  return result;
}

}  // namespace

TEST_CASE("npy: element types are kept, or become int32", "[data]") {
  CHECK(numbers(parsed(npy<float>("<f4", "(2, 2)", {1, 2.5, 3, 4}))) == std::vector<double>{1, 2.5, 3, 4});
  CHECK(parsed(npy<double>("<f8", "(1,)", {1})).dtype() == DType::float64);
  CHECK(parsed(npy<std::uint8_t>("|u1", "(3,)", {1, 2, 255})).dtype() == DType::uint8);
  CHECK(parsed(npy<std::uint8_t>("|b1", "(2,)", {1, 0})).dtype() == DType::boolean);
  CHECK(parsed(npy<std::int32_t>("<i4", "(0, 7)", {})).shape() == Shape{0, 7});
  CHECK(numbers(parsed(npy<std::int64_t>("<i8", "(2,)", {-5, 7}))) == std::vector<double>{-5, 7});
  CHECK(numbers(parsed(npy<std::int16_t>("<i2", "(2,)", {-5, 7}))) == std::vector<double>{-5, 7});
  CHECK(numbers(parsed(npy<std::int8_t>("|i1", "(2,)", {-5, 7}))) == std::vector<double>{-5, 7});
  CHECK(numbers(parsed(npy<std::uint16_t>("<u2", "(2,)", {65535, 7}))) == std::vector<double>{65535, 7});
  CHECK(numbers(parsed(npy<std::uint16_t>("<f2", "(2,)", {0x3e00, 0xc000}))) == std::vector<double>{1.5, -2});
  CHECK_THROWS_WITH(parsed(npy<std::int64_t>("<i8", "(1,)", {std::int64_t{1} << 40})),
                    ContainsSubstring("the number 1099511627776 - expected the range of int32"));
}

TEST_CASE("npy: objects, other orders and other types are refused", "[data]") {
  const std::string good = npy<float>("<f4", "(2,)", {1, 2});
  for (const std::string type : {"|O", "O", ">f4", "<c8", "<c4", "<U3", "<U1", "<u4", "<u8", "f4", "", "|f4"})
    CHECK_THROWS_WITH(parsed(npy<float>(type, "(2,)", {1, 2})),
                      ContainsSubstring("elements of type \"" + type + "\" - expected little-endian f2"));
  std::string fortran = good;
  fortran.replace(fortran.find("False"), 5, "True ");
  CHECK_THROWS_WITH(parsed(fortran), ContainsSubstring("Fortran order - expected C order"));
}

TEST_CASE("npy: a bool is 0 or 1", "[data]") {
  CHECK(numbers(parsed(npy<std::uint8_t>("|b1", "(3,)", {1, 0, 1}))) == std::vector<double>{1, 0, 1});
  CHECK_THROWS_WITH(parsed(npy<std::uint8_t>("|b1", "(3,)", {0, 1, 62})), ContainsSubstring("a bool of 62 - expected"));
}

#ifdef __linux__
TEST_CASE("npy: a file that another process truncates is an Error, and the next file is read", "[data]") {
  const TemporaryFile file(npy<float>("<f4", "(100000, 3)", std::vector<float>(300000, 1))),
      other(npy<std::int16_t>("<i2", "(100000, 3)", std::vector<std::int16_t>(300000, 1)));
  const NpyFile rows(file.path), narrow(other.path);
  std::filesystem::resize_file(file.path, 4096);
  std::filesystem::resize_file(other.path, 4096);
  Tensor out({100000, 3}), numbers({100000, 3}, DType::int32);
  for (int time = 0; time < 2; ++time) {
    CHECK_THROWS_WITH(rows.read(0, 100000, out.raw()),
                      ContainsSubstring("the file became shorter while it was in use"));
    CHECK_THROWS_WITH(narrow.read(0, 100000, numbers.raw()), ContainsSubstring("became shorter"));
  }
  rows.read(0, 10, out.raw());
  CHECK(out.at(29) == 1);
  const TemporaryFile good(npy<float>("<f4", "(2,)", {1, 2}));
  CHECK(read_npy(good.path).at(1) == 2);
}
#endif

TEST_CASE("npy: truncated files are refused, at any length", "[data]") {
  const std::string good = npy<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6});
  REQUIRE(parsed(good).shape() == Shape{2, 3});
  for (std::size_t size = 0; size < good.size(); ++size) CHECK_THROWS_AS(parsed(good.substr(0, size)), Error);
  CHECK_THROWS_AS(parsed(good + "x"), Error);
  for (const char* shape : {"(2, -3)", "(2", "2, 3)", "(a,)", "(99999999999999999999,)", "(4611686018427387904, 4)",
                            "(1,1,1,1,1,1,1,1,6)", "(6)x", "[6]"})
    CHECK_THROWS_AS(parsed(npy<float>("<f4", shape, {1, 2, 3, 4, 5, 6})), Error);
  std::string twice = good;
  twice.replace(twice.find("'fortran_order': False"), 22, "'descr': '<f4'        ");
  CHECK_THROWS_WITH(parsed(twice), ContainsSubstring("or repeated"));
}

TEST_CASE("npy: no change of a single header byte causes a read beyond the file", "[data]") {
  const std::string good = npy<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6});
  int accepted = 0;
  for (std::size_t at = 0; at < 128; ++at)
    for (int value = 0; value < 256; value += 3) {
      std::string changed = good;
      changed[at] = static_cast<char>(value);
      try {
        const Tensor read = parsed(changed);
        CHECK(read.bytes() <= 24);
        ++accepted;
      } catch (const Error&) {
        // the values are named, not read
      }
    }
  CHECK(accepted > 0);
}

TEST_CASE("npy: a file is an array-like, read row by row", "[data]") {
  const TemporaryFile file(npy<float>("<f4", "(4, 2)", {0, 1, 2, 3, 4, 5, 6, 7}));
  const auto rows = std::make_shared<NpyFile>(file.path);
  CHECK(numbers(read_npy(file.path)) == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  const auto adapter = Data(rows, Tensor(Shape{4})).adapter({.rows = {.batch_size = 3}});
  CHECK(numbers(adapter->peek()->x[0]) == std::vector<double>{0, 1, 2, 3, 4, 5});
  std::int64_t count = 0;
  for (const Batch& element : Dataset::from_array_likes({rows}).skip(1)) {
    CHECK(element.x[0].shape() == Shape{2});
    CHECK(element.x[0].at(0) == static_cast<double>(2 * ++count));
  }
  CHECK(count == 3);
  CHECK_THROWS_WITH(NpyFile("/no/such/file.npy"), ContainsSubstring("/no/such/file.npy"));
}

TEST_CASE("csv: lines become elements, in pieces of any size", "[data]") {
  const std::string text = "a, b,label\r\n1,2.5,0\n\n\"3\",-4e1,1\r\n5,\"6\",2";
  const std::vector<double> whole{1, 2.5, 0, 3, -40, 1, 5, 6, 2};
  for (std::size_t size = 1; size <= text.size(); ++size) {
    CHECK(csv(text, {}, size) == whole);
    CHECK(csv(text, {.label = "label"}, size) == whole);
  }
  CHECK(csv(text, {.columns = {"b"}, .label = "a"}) == std::vector<double>{2.5, 1, -40, 3, 6, 5});
  CHECK(csv("1;2\n3;4\n", {.delimiter = ";", .header = false, .label = "1"}) == std::vector<double>{1, 2, 3, 4});
  CHECK(csv("a,b\n1,\n", {.missing = -1}) == std::vector<double>{1, -1});
  CHECK(csv("a,b\n").empty());
  CHECK(csv("").empty());
  CHECK(csv("\"a\"\"b\",c\n1,2\n", {.columns = {"a\"b"}}) == std::vector<double>{1});
}

TEST_CASE("csv: lines end in \\n, \\r\\n or \\r, and a byte-order mark is not part of a name", "[data]") {
  const std::vector<double> want{1, 2, 3, 4};
  for (const char* end : {"\n", "\r\n", "\r", "\r\r", "\n\n"})
    for (const char* mark : {"", "\xEF\xBB\xBF"})
      for (const bool ends : {false, true}) {
        const std::string text = std::string(mark) + "a,b" + end + "1,2" + end + "\"3\",4" + (ends ? end : "");
        for (std::size_t size = 1; size <= text.size(); ++size)
          CHECK(csv(text, {.columns = {"a"}, .label = "b"}, size) == want);
      }
  CHECK(csv("\xEF\xBB\xBF\"a\"\n7\n", {.columns = {"a"}}) == std::vector<double>{7});
  CHECK_THROWS_WITH(csv("a\r1\rx\r"), ContainsSubstring("line 3, column \"a\": \"x\""));
}

TEST_CASE("csv: an unclosed quote is scanned once, in a file of any length", "[data]") {
  // Pieces of one byte: restarting with each would take 10^11 steps.
  const std::string text = "a,b\n1,\"2\n" + std::string(500000, '1');
  CHECK_THROWS_WITH(csv(text, {}, 64), ContainsSubstring("line 2 has an unclosed quote"));
}

TEST_CASE("csv: text labels become the index of their class name", "[data]") {
  const std::string text = "width,species\n1.5,setosa\n2,virginica\n3,setosa\n";
  CHECK(csv(text, {.label = "species", .class_names = {"setosa", "virginica"}}) ==
        std::vector<double>{1.5, 0, 2, 1, 3, 0});
  CHECK_THROWS_WITH(csv(text, {.label = "species", .class_names = {"setosa", "versicolor"}}),
                    ContainsSubstring("line 3, column \"species\": \"virginica\" - expected one of the class names: "
                                      "\"setosa\" \"versicolor\" - add it to `class_names`"));
  CHECK_THROWS_WITH(
      csv(text, {.label = "species"}),
      ContainsSubstring(
          "line 2, column \"species\": \"setosa\" - expected a number - list the label texts in `class_names`"));
  CHECK_THROWS_WITH(csv(text), ContainsSubstring("exclude the column by `columns`, or, if the model shall predict it, "
                                                 "set it as `label` and list its texts in `class_names`"));
  CHECK_THROWS_WITH(csv("a,b\nx,1\n", {.label = "b"}), ContainsSubstring("exclude the column by `columns`."));
  CHECK_THROWS_WITH(csv(text, {.class_names = {"setosa"}}), ContainsSubstring("class_names without a label"));
}

TEST_CASE("csv: errors name line and column", "[data]") {
  CHECK_THROWS_WITH(csv("a,b\n1,2\n3,x\n"), ContainsSubstring("line 3, column \"b\": \"x\" - expected a number"));
  CHECK_THROWS_WITH(csv("a,b\n1,\n"), ContainsSubstring("line 2, column \"b\": \"\""));
  CHECK_THROWS_WITH(csv("a,b\n1,2,3\n"), ContainsSubstring("line 2 has 3 fields - expected 2"));
  CHECK_THROWS_WITH(csv("a,b\n1,\"2"), ContainsSubstring("line 2 has an unclosed quote"));
  CHECK_THROWS_WITH(csv("a", {.delimiter = ", "}), ContainsSubstring("expected one character"));
  CHECK_THROWS_WITH(csv("a,b\n1,2\n", {.label = "c"}), ContainsSubstring("column \"c\" - expected one of: a, b"));
}

TEST_CASE("csv: each iteration reads the file again, and can return to a position", "[data]") {
  std::string text = "x,y\n";
  for (int i = 0; i < 20000; ++i) text += std::to_string(i) + ',' + std::to_string(2 * i) + '\n';
  const TemporaryFile file(text);
  const Dataset data = read_csv(file.path, {.label = "y"}).batch(1000);
  CHECK(data.cardinality() == Dataset::unknown);
  for (int iteration = 0; iteration < 2; ++iteration) {
    double sum = 0;
    for (const Batch& batch : data) sum += batch.y[0].at(999);
    CHECK(sum == 2.0 * (999 + 19999) * 20 / 2);
  }
  DatasetIterator elements(data);
  elements.restore({0, 19});
  CHECK(elements.next().get()->x[0].at(0) == 19000);
  CHECK_THROWS_WITH(*read_csv("/no/such/file.csv").begin(), ContainsSubstring("/no/such/file.csv"));
}

TEST_CASE("a path with a NUL byte does not open the file named by its first part", "[data]") {
  const TemporaryFile table("y,a\n1,2\n"), array(npy<float>("<f4", "(1,)", {1}));
  const std::string suffix("\0.csv", 5);
  CHECK_THROWS_WITH(*read_csv(table.path + suffix, {.label = "y"}).begin(), ContainsSubstring("a NUL byte follows"));
  CHECK_THROWS_WITH(read_npy(array.path + suffix), ContainsSubstring("a NUL byte follows"));
  CHECK_THROWS_WITH(NpyFile(array.path + suffix), ContainsSubstring("a NUL byte follows"));
}

}  // namespace etude
