#include "etude/data/idx.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdio>
#include <fstream>
#include <initializer_list>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/vfs.hpp"
#include "support.hpp"

namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::kind_of;

using Bytes = std::vector<std::byte>;

Bytes bytes(std::initializer_list<int> values) {
  Bytes result;
  for (int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A file in the current folder, removed at the end of the test.
struct TemporaryFile {
  std::string path = "etude_idx_test.tmp";
  explicit TemporaryFile(const Bytes& content) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
};

/// 2 × 3 of uint8.
const Bytes small = bytes({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 255});

/// printf 'hello, hello, hello\n' | gzip -9n
const Bytes hello_gz =
    bytes({0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9,
           0xd7, 0x51, 0xc8, 0x40, 0xa2, 0xb8, 0x00, 0xe7, 0x42, 0x6e, 0x52, 0x14, 0x00, 0x00, 0x00});
/// `small`, through gzip -9n.
const Bytes small_gz =
    bytes({0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x63, 0x60, 0xe0, 0x60, 0x62, 0x60, 0x60, 0x00,
           0x61, 0x66, 0x46, 0x26, 0x66, 0x16, 0xd6, 0xff, 0x00, 0xf0, 0xde, 0x5f, 0x21, 0x12, 0x00, 0x00, 0x00});

}  // namespace

TEST_CASE("IDX: unsigned bytes keep their type and shape", "[idx]") {
  const Tensor tensor = parse_idx(small);
  CHECK(tensor.shape() == Shape{2, 3});
  CHECK(tensor.dtype() == DType::uint8);
  CHECK(tensor.at(0) == 1);
  CHECK(tensor.at(5) == 255);
}

TEST_CASE("IDX: int8 and int16 become int32 with their sign", "[idx]") {
  const Tensor narrow = parse_idx(bytes({0, 0, 9, 1, 0, 0, 0, 2, 0x7f, 0x80}));
  CHECK(narrow.dtype() == DType::int32);
  CHECK(narrow.at(0) == 127);
  CHECK(narrow.at(1) == -128);
  const Tensor wide = parse_idx(bytes({0, 0, 11, 1, 0, 0, 0, 2, 0x01, 0x02, 0xff, 0xfe}));
  CHECK(wide.dtype() == DType::int32);
  CHECK(wide.at(0) == 258);
  CHECK(wide.at(1) == -2);
}

TEST_CASE("IDX: int32, float32 and float64 are read in big-endian order", "[idx]") {
  const Tensor integer = parse_idx(bytes({0, 0, 12, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfd}));
  CHECK(integer.dtype() == DType::int32);
  CHECK(integer.item() == -3);
  const Tensor single = parse_idx(bytes({0, 0, 13, 1, 0, 0, 0, 1, 0xbf, 0xc0, 0, 0}));
  CHECK(single.dtype() == DType::float32);
  CHECK(single.item() == -1.5);
  const Tensor twofold = parse_idx(bytes({0, 0, 14, 1, 0, 0, 0, 1, 0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18}));
  CHECK(twofold.dtype() == DType::float64);
  CHECK(twofold.item() == 3.141592653589793);
}

TEST_CASE("IDX: an axis of no elements is allowed", "[idx]") {
  CHECK(parse_idx(bytes({0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 3})).shape() == Shape{0, 3});
}

TEST_CASE("IDX: a damaged header is an error", "[idx]") {
  CHECK_THROWS_WITH(parse_idx({}), ContainsSubstring("[IDX] 0 bytes - expected at least the four"));
  CHECK_THROWS_WITH(parse_idx(bytes({0, 0, 8})), ContainsSubstring("3 bytes"));
  CHECK_THROWS_WITH(parse_idx(bytes({'P', 'K', 3, 4}), "x.zip"),
                    ContainsSubstring("[x.zip] the first bytes are 80 and 75 - expected 0 and 0"));
  CHECK_THROWS_WITH(parse_idx(bytes({0, 0, 10, 1, 0, 0, 0, 0})), ContainsSubstring("element type 10"));
  CHECK_THROWS_WITH(parse_idx(bytes({0, 0, 8, 0, 1})), ContainsSubstring("0 axes - expected 1 to 8"));
  CHECK_THROWS_WITH(parse_idx(bytes({0, 0, 8, 9})), ContainsSubstring("9 axes"));
  CHECK_THROWS_WITH(parse_idx(bytes({0, 0, 8, 2, 0, 0, 0, 2, 0, 0})), ContainsSubstring("expected a header of 12"));
  CHECK(kind_of([] { parse_idx(bytes({1, 2, 3, 4})); }) == ErrorKind::data);
}

TEST_CASE("IDX: every truncation of a valid file is an error, and so are bytes after it", "[idx]") {
  for (std::size_t length = 0; length < small.size(); ++length)
    CHECK(kind_of([&] { parse_idx(std::span(small).first(length)); }) == ErrorKind::data);
  CHECK_THROWS_WITH(parse_idx(std::span(small).first(17)),
                    ContainsSubstring("only 5 bytes of data for shape [2, 3] - expected 6"));
  CHECK_THROWS_WITH(parse_idx(small + bytes({0})), ContainsSubstring("1 bytes follow the data"));
}

TEST_CASE("IDX: impossible sizes are refused before memory is allocated", "[idx]") {
  const Bytes huge = bytes({0xff, 0xff, 0xff, 0xff}), none = bytes({0, 0, 0, 0});
  CHECK_THROWS_WITH(parse_idx(bytes({0, 0, 8, 1}) + huge),
                    ContainsSubstring("only 0 bytes of data for shape [4294967295]"));
  const Bytes header = bytes({0, 0, 14, 3});
  CHECK_THROWS_WITH(parse_idx(header + huge + huge + huge), ContainsSubstring("at most 2^40 elements"));
  // An extent of 0 in any place must not hide an overflow of the others.
  CHECK(kind_of([&] { parse_idx(header + huge + huge + none); }) == ErrorKind::data);
  CHECK(kind_of([&] { parse_idx(header + none + huge + huge); }) == ErrorKind::data);
  // 2^32 times 2^32 elements are 0 in 64 bits.
  const Bytes half = bytes({0x80, 0, 0, 0});
  CHECK(kind_of([&] { parse_idx(bytes({0, 0, 8, 4}) + half + half + bytes({0, 0, 0, 2}) + bytes({0, 0, 0, 2})); }) ==
        ErrorKind::data);
}

TEST_CASE("IDX: a plain file is read", "[idx]") {
  const TemporaryFile file(small);
  CHECK(read_idx(file.path).shape() == Shape{2, 3});
}

TEST_CASE("IDX: a missing file and a folder are input errors that name the path", "[idx]") {
  CHECK_THROWS_WITH(read_idx("no/such/file"), ContainsSubstring("\"no/such/file\" cannot be read: "));
  CHECK(kind_of([] { read_idx("no/such/file"); }) == ErrorKind::io);
  CHECK(kind_of([] { read_file("."); }) == ErrorKind::io);
}

TEST_CASE("read_file: gives the bytes of small, empty and large files", "[idx]") {
  CHECK(read_file(TemporaryFile(small).path) == small);
  CHECK(read_file(TemporaryFile(Bytes{}).path).empty());
  Bytes large(300001);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::byte>(i * 7);
  CHECK(read_file(TemporaryFile(large).path) == large);
}

#ifdef ETUDE_ZLIB

TEST_CASE("gunzip: expands one member and several", "[idx]") {
  const auto text = [](const Bytes& data) {
    return std::string(reinterpret_cast<const char*>(data.data()), data.size());
  };
  CHECK(text(gunzip(hello_gz)) == "hello, hello, hello\n");
  CHECK(text(gunzip(hello_gz + hello_gz)) == "hello, hello, hello\nhello, hello, hello\n");
}

TEST_CASE("gunzip: every truncation and every changed bit of the data is an error", "[idx]") {
  for (std::size_t length = 0; length < hello_gz.size(); ++length)
    CHECK(kind_of([&] { gunzip(std::span(hello_gz).first(length)); }) == ErrorKind::data);
  for (std::size_t at = 10; at < hello_gz.size(); ++at) {
    Bytes damaged = hello_gz;
    damaged[at] ^= std::byte{0x10};
    CHECK(kind_of([&] { gunzip(damaged); }) == ErrorKind::data);
  }
  CHECK_THROWS_WITH(gunzip(std::span(hello_gz).first(20), "a.gz"),
                    ContainsSubstring("[a.gz] the gzip data ends after 20 bytes, in its middle"));
}

TEST_CASE("gunzip: other data, data after the end, and data beyond the limit are errors", "[idx]") {
  CHECK_THROWS_WITH(gunzip(small), ContainsSubstring("does not begin with 1f 8b"));
  CHECK_THROWS_WITH(gunzip(hello_gz + bytes({0, 0})), ContainsSubstring("2 bytes follow the gzip data"));
  CHECK_THROWS_WITH(gunzip(hello_gz, "bomb", 19), ContainsSubstring("[bomb] expands to more than 19 bytes"));
  CHECK(gunzip(hello_gz, "bomb", 20).size() == 20);
}

TEST_CASE("gunzip: data that expands to more than 100 times its size is refused, unless a larger limit is given",
          "[idx]") {
  // 2 MiB of zeros in 2067 bytes, compressed by zlib 1.2 at level 9.
  const Bytes bomb =
      bytes({31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 237, 193, 49, 1, 0, 0, 0, 194, 160, 245, 79, 109, 12, 31, 160}) +
      Bytes(2032) + bytes({190, 6, 126, 135, 137, 141, 0, 0, 32, 0});
  REQUIRE(bomb.size() == 2067);
  CHECK_THROWS_WITH(gunzip(bomb, "bomb"), ContainsSubstring("[bomb] expands to more than 1048576 bytes, of 2067"));
  CHECK(gunzip(bomb, "bomb", std::uint64_t{2} << 20).size() == std::size_t{2} << 20);
  const TemporaryFile file(bomb);
  CHECK_THROWS_WITH(read_idx(file.path), ContainsSubstring("or pass a larger limit"));
  CHECK_THROWS_WITH(read_idx(file.path, std::uint64_t{2} << 20), !ContainsSubstring("expands"));  // zeros are not IDX
}

TEST_CASE("IDX: a gzipped file is recognised by its first bytes, not by its name", "[idx]") {
  const TemporaryFile file(small_gz);
  CHECK(read_idx(file.path).at(5) == 255);
}

TEST_CASE("IDX: a truncated gzipped file is an error that names its path", "[idx]") {
  const TemporaryFile file(Bytes(small_gz.begin(), small_gz.end() - 9));
  CHECK_THROWS_WITH(read_idx(file.path), ContainsSubstring("[etude_idx_test.tmp] the gzip data ends"));
}

#else

TEST_CASE("IDX: a gzipped file in a build without zlib is a clear error", "[idx]") {
  const TemporaryFile file(small_gz);
  CHECK_THROWS_WITH(read_idx(file.path), ContainsSubstring("without zlib"));
}

#endif

}  // namespace etude
