#include "etude/saving/hdf5/detail/hdf5_chunks.hpp"

#include <algorithm>

namespace etude::hdf5 {
namespace {

/// The chunks along each axis, and in all.
struct Grid {
  std::vector<std::uint64_t> counts;
  std::uint64_t total = 1;
};

Grid grid_of(const Dataset& dataset) {
  Grid grid;
  for (std::size_t axis = 0; axis < dataset.shape.rank(); ++axis) {
    const auto extent = static_cast<std::uint64_t>(dataset.shape.begin()[axis]),
               chunk = static_cast<std::uint64_t>(dataset.chunk->begin()[axis]);
    grid.counts.push_back(extent / chunk + (extent % chunk != 0));
    grid.total *= grid.counts.back();
  }
  return grid;
}

class ChunkReader {
 public:
  ChunkReader(File& file, std::uint64_t owner, const Dataset& dataset, std::uint64_t bytes)
      : file_(file), owner_(owner), dataset_(dataset), bytes_(bytes), grid_(grid_of(dataset)) {}

  std::vector<Chunk> read(const ChunkIndex& index) {
    if (grid_.total == 0) return {};
    if (index.at == nowhere) refuse_missing();
    switch (index.kind) {
      case ChunkIndex::Kind::tree: read_tree(index.at, {}); break;
      case ChunkIndex::Kind::single: add({0, index.at, index.size ? index.size : bytes_, index.mask}, owner_); break;
      case ChunkIndex::Kind::implicit: read_implicit(index.at); break;
      case ChunkIndex::Kind::fixed_array: read_array(index.at); break;
    }
    if (chunks_.size() < grid_.total) refuse_missing();
    return std::move(chunks_);
  }

 private:
  /// For elements that were never written.
  [[noreturn]] void refuse_missing() const { file_.refuse(owner_, "a dataset without some of its data", "all of it"); }

  void add(const Chunk& chunk, std::uint64_t at) {
    if (chunk.at == nowhere) refuse_missing();
    // All indexes have the order of the places.
    if (chunk.index > chunks_.size()) refuse_missing();
    file_.require(chunk.index == chunks_.size(), at, "a second chunk for one place", "one");
    if (dataset_.filters.empty()) file_.require(chunk.size == bytes_, at, "a chunk of another size", "equal sizes");
    file_.require(chunk.size > 0 && chunk.size < std::uint64_t{1} << 32, at, "a chunk of an impossible size",
                  "1 byte to 4 GiB");
    file_.claim(chunk.at, chunk.size, owner_);
    chunks_.push_back(chunk);
  }

  void read_tree(std::uint64_t at, std::optional<std::uint64_t> level) {
    constexpr std::size_t header_size = 24, word = 8;
    const std::size_t rank = dataset_.shape.rank(), key_size = 8 + word * (rank + 1);
    const std::vector<std::byte> begin = file_.begin_of(at, header_size);
    Bytes header(file_, at, begin);
    header.expect("TREE");
    header.require(header.number(1) == 1, "a tree of links", "a tree of chunks");
    const std::uint64_t found = header.number(1), count = header.number(2);
    header.require(level ? found == *level : found < depth_limit, "a tree of the wrong depth",
                   "the depth of its place");
    const std::vector<std::byte> node = file_.structure(at, header_size + (key_size + word) * count + key_size, owner_);
    Bytes bytes(file_, at, node);
    bytes.skip(header_size);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t key_at = bytes.at();
      Chunk chunk{0, 0, bytes.number(4), static_cast<std::uint32_t>(bytes.number(4))};
      bool inside = true;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        const auto extent = static_cast<std::uint64_t>(dataset_.chunk->begin()[axis]);
        const std::uint64_t origin = bytes.number(8), place = origin / extent;
        inside = inside && origin % extent == 0 && place < grid_.counts[axis];
        chunk.index = chunk.index * grid_.counts[axis] + place;
      }
      bytes.skip(word);  // the place in an element
      chunk.at = bytes.address();
      if (found > 0) {
        read_tree(chunk.at, found - 1);
        continue;
      }
      file_.require(inside, key_at, "a chunk outside of its dataset", "one in it");
      add(chunk, key_at);
    }
  }

  void read_implicit(std::uint64_t at) {
    file_.require(dataset_.filters.empty() && grid_.total <= file_.end() / bytes_, owner_,
                  "more chunks than the file can hold", "fewer");
    for (std::uint64_t i = 0; i < grid_.total; ++i) add({i, at + i * bytes_, bytes_, 0}, owner_);
  }

  /// An array in one block, or in pages of a block.
  void read_array(std::uint64_t at) {
    constexpr std::size_t header_size = 28, sum_size = 4;
    const std::vector<std::byte> header = file_.structure(at, header_size, owner_);
    verify_checksum(file_, at, header);
    Bytes bytes(file_, at, header);
    bytes.expect("FAHD");
    const bool filtered = !dataset_.filters.empty();
    bytes.require(bytes.number(1) == 0 && bytes.number(1) == std::uint64_t{filtered}, "an array of other elements",
                  "chunks");
    const std::uint64_t entry = bytes.number(1), page_bits = bytes.number(1), count = bytes.number(8),
                        block_at = bytes.address();
    const std::uint64_t size_bytes = filtered ? entry - 12 : 0;
    bytes.require((filtered ? entry > 12 && size_bytes <= 8 : entry == 8) && page_bits < 32 && count == grid_.total,
                  "an array of other elements", "one for each chunk");
    if (block_at == nowhere) refuse_missing();
    bytes.require(count <= file_.end() / entry, "an array that is larger than the file", "a smaller one");

    const std::uint64_t page = std::uint64_t{1} << page_bits, pages = count > page ? (count + page - 1) / page : 0;
    constexpr std::size_t prefix = 14;
    const std::uint64_t bitmap = (pages + 7) / 8, in_block = pages ? 0 : count * entry;
    const std::vector<std::byte> block = file_.structure(block_at, prefix + bitmap + in_block + sum_size, owner_);
    verify_checksum(file_, block_at, block);
    Bytes rest(file_, block_at, block);
    rest.expect("FADB");
    rest.require(rest.number(1) == 0 && rest.number(1) == std::uint64_t{filtered} && rest.address() == at,
                 "a block of another array", "one of this array");
    rest.skip(bitmap);
    if (!pages) return read_entries(rest, 0, count, size_bytes);
    std::uint64_t page_at = block_at + block.size();
    for (std::uint64_t done = 0; done < count; done += page) {
      const std::uint64_t entries = std::min(page, count - done);
      const std::vector<std::byte> stored = file_.structure(page_at, entries * entry + sum_size, owner_);
      verify_checksum(file_, page_at, stored);
      read_entries({file_, page_at, stored}, done, entries, size_bytes);
      page_at += stored.size();
    }
  }

  void read_entries(Bytes bytes, std::uint64_t first, std::uint64_t count, std::uint64_t size_bytes) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t at = bytes.at();
      Chunk chunk{first + i, bytes.address(), bytes_, 0};
      if (size_bytes) {
        chunk.size = bytes.number(static_cast<std::size_t>(size_bytes));
        chunk.mask = static_cast<std::uint32_t>(bytes.number(4));
      }
      add(chunk, at);
    }
  }

  File& file_;
  const std::uint64_t owner_;
  const Dataset& dataset_;
  const std::uint64_t bytes_;
  const Grid grid_;
  std::vector<Chunk> chunks_;
};

}  // namespace

std::vector<Chunk> chunks_of(File& file, std::uint64_t owner, const ChunkIndex& index, const Dataset& dataset,
                             std::uint64_t bytes) {
  file.begin_walk();
  return ChunkReader(file, owner, dataset, bytes).read(index);
}

}  // namespace etude::hdf5
