#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/dtype.hpp"
#include "etude/base/shape.hpp"

namespace etude::hdf5 {

/// How elements are stored, apart from their byte order. `boolean` is an enumeration of FALSE and TRUE, as h5py writes
/// it; `bfloat16` has two bytes without a meaning of their own, as Keras writes it.
enum class Number : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  bfloat16,
  boolean
};

/// Bytes of an element.
std::size_t size_of(Number number);
/// NumPy's name.
std::string_view name_of(Number number);
/// The number that stores a dtype.
Number number_of(DType dtype);
/// The dtype into which a number is read if the caller has no wish: itself if that exists, else int32.
DType dtype_of_number(Number number);

/// The most that a file may contain. Together with the size of the file they bound the memory and the time of a reader.
constexpr std::size_t name_limit = 4096, path_limit = 4096, depth_limit = 64, objects_limit = 1'000'000;

/// A step of the pipeline by which a chunk was stored, by its number in files.
enum class FilterKind : std::uint8_t { deflate = 1, shuffle, fletcher32 };
struct Filter {
  FilterKind kind;
  /// Of shuffle: bytes of an element.
  std::uint32_t element = 1;
};

/// The stored bytes of a chunk.
struct Chunk {
  /// Its place among the chunks, row-major.
  std::uint64_t index;
  std::uint64_t at, size;
  /// Bit i: filter i was not applied.
  std::uint32_t mask;
};

/// A dataset of numbers, and where its bytes are. Everything in it is checked against the file: its bytes exist, once.
struct Dataset {
  /// Its path in the file.
  std::string path;
  Shape shape;
  Number number = Number::float32;
  bool big_endian = false;
  /// The place of a contiguous dataset.
  std::uint64_t at = 0;
  /// The bytes of a small dataset that is stored with its description.
  std::optional<std::vector<std::byte>> compact = {};
  /// The extents of a chunk; none if the dataset is not in chunks.
  std::optional<Shape> chunk = {};
  /// The chunks in row-major order, all of them, and the pipeline in the order of writing.
  std::vector<Chunk> chunks = {};
  std::vector<Filter> filters = {};

  /// The number of elements.
  std::uint64_t size() const { return static_cast<std::uint64_t>(shape.size()); }
  /// Bytes of all elements, as the file's numbers.
  std::uint64_t bytes() const { return size() * size_of(number); }
};

}  // namespace etude::hdf5
