#include "etude/saving/hdf5/detail/hdf5_layout.hpp"

#include "etude/saving/hdf5/detail/hdf5_chunks.hpp"

namespace etude::hdf5 {
namespace {

class LayoutReader {
 public:
  LayoutReader(File& file, std::uint64_t owner, Dataset& dataset) : file_(file), owner_(owner), dataset_(dataset) {}

  void read(Bytes bytes) {
    const Bytes begin = bytes;
    const std::uint64_t version = bytes.number(1);
    if (version != 3 && version != 4 && version != 5)
      file_.refuse(begin.at(), "a layout of version " + std::to_string(version), "3 or 4");
    const std::uint64_t kind = bytes.number(1);
    begin.require(kind == 2 || dataset_.filters.empty(), "filters of a dataset without chunks", "chunks");
    switch (kind) {
      case 0: return read_compact(bytes);
      case 1: return read_contiguous(bytes);
      case 2: return version == 3 ? read_chunked_3(bytes) : read_chunked_4(bytes);
      case 3: file_.refuse(begin.at(), "a virtual dataset", "one whose data is in this file");
      default: file_.damaged(begin.at(), "an unknown layout", "contiguous, compact or in chunks");
    }
  }

 private:
  void read_compact(Bytes bytes) {
    const auto data = bytes.take(bytes.number(2));
    bytes.require(data.size() == dataset_.bytes(), "data of another size than its shape", "equal sizes");
    dataset_.compact.emplace(data.begin(), data.end());
  }

  void read_contiguous(Bytes bytes) {
    dataset_.at = bytes.address();
    const std::uint64_t size = bytes.number(8);
    if (dataset_.bytes() == 0) return;
    if (dataset_.at == nowhere) file_.refuse(owner_, "a dataset without data", "all of it");
    bytes.require(size == dataset_.bytes(), "data of another size than its shape", "equal sizes");
    file_.claim(dataset_.at, size, owner_);
  }

  void read_chunked_3(Bytes bytes) {
    const std::uint64_t rank = bytes.number(1), at = bytes.address();
    read_extents(bytes, rank, 4);
    find_chunks({ChunkIndex::Kind::tree, at});
  }

  void read_chunked_4(Bytes bytes) {
    constexpr std::uint64_t unfiltered_edges = 1, filtered_single = 2;
    const std::uint64_t flags = bytes.number(1), rank = bytes.number(1), extent_size = bytes.number(1);
    if (flags & unfiltered_edges) file_.refuse(bytes.at(), "chunks whose filters differ", "the same for all");
    bytes.require(extent_size >= 1 && extent_size <= 8, "extents of an unknown size", "1 to 8 bytes");
    read_extents(bytes, rank, static_cast<std::size_t>(extent_size));
    const std::uint64_t kind = bytes.number(1);
    ChunkIndex index{static_cast<ChunkIndex::Kind>(kind & 3), nowhere};
    switch (kind) {
      case 1:
        if (flags & filtered_single) {
          index.size = bytes.number(8);
          index.mask = static_cast<std::uint32_t>(bytes.number(4));
        }
        break;
      case 2: break;
      case 3: bytes.skip(1); break;
      default: file_.refuse(bytes.at(), "chunks of a dataset that can grow, of file format 1.10", "a fixed shape");
    }
    index.at = bytes.address();
    find_chunks(index);
  }

  /// Extents of a chunk, then the size of an element.
  void read_extents(Bytes& bytes, std::uint64_t count, std::size_t size) {
    bytes.require(count == dataset_.shape.rank() + 1 && count >= 2, "chunks of another rank", "that of the shape");
    Shape chunk;
    chunk_bytes_ = size_of(dataset_.number);
    for (std::uint64_t i = 0; i + 1 < count; ++i) {
      const std::uint64_t extent = bytes.number(size);
      constexpr std::uint64_t most = std::uint64_t{1} << 31;
      bytes.require(extent > 0 && extent <= most / chunk_bytes_, "chunks of an impossible size", "1 byte to 2 GiB");
      chunk_bytes_ *= extent;
      chunk.append(static_cast<std::int64_t>(extent));
    }
    bytes.require(bytes.number(size) == size_of(dataset_.number), "chunks of other elements", "those of the type");
    dataset_.chunk = chunk;
  }

  void find_chunks(const ChunkIndex& index) {
    dataset_.chunks = chunks_of(file_, owner_, index, dataset_, chunk_bytes_);
  }

  File& file_;
  const std::uint64_t owner_;
  Dataset& dataset_;
  std::uint64_t chunk_bytes_ = 0;
};

}  // namespace

Dataset dataset_of(File& file, const ObjectHeader& object, std::string path, const std::function<bool()>& is_bfloat16) {
  if (object.has(MessageType::external_files))
    file.refuse(object.address(), "a dataset whose data is in other files", "data in this file");
  const Bytes type_message = object.at(MessageType::datatype);
  const Type type = type_of(type_message);
  Dataset dataset{.path = std::move(path), .shape = {}};
  dataset.number = type.number;
  dataset.big_endian = type.big_endian;
  if (type.kind == Type::Kind::opaque && type.size == 2 && is_bfloat16())
    dataset.number = Number::bfloat16;
  else if (type.kind != Type::Kind::number)
    file.refuse(type_message.at(), "a dataset of texts or of bytes without a meaning", "numbers");
  const std::optional<Shape> shape = shape_of(object.at(MessageType::dataspace));
  file.require(shape.has_value(), object.address(), "a dataset without a shape", "a shape");
  dataset.shape = *shape;
  if (const std::optional<Bytes> filters = object.find(MessageType::filters)) dataset.filters = filters_of(*filters);
  LayoutReader(file, object.address(), dataset).read(object.at(MessageType::layout));
  return dataset;
}

}  // namespace etude::hdf5
