#include "etude/saving/hdf5/detail/hdf5_dense.hpp"

#include <algorithm>
#include <bit>

namespace etude::hdf5 {
namespace {

/// The bytes that hold numbers up to `most`.
std::size_t bytes_for(std::uint64_t most) { return (static_cast<std::size_t>(std::bit_width(most)) - 1) / 8 + 1; }

/// A heap of objects in blocks, whose sizes double. Source: HDF5 File Format Specification, Fractal Heap.
class FractalHeap {
 public:
  FractalHeap(File& file, std::uint64_t at, std::uint64_t owner) : file_(file), at_(at), owner_(owner) {
    constexpr std::size_t size = 146;
    const std::vector<std::byte> header = file.structure(at, size, owner);
    Bytes bytes(file, at, header);
    bytes.expect("FRHP");
    bytes.require(bytes.number(1) == 0, "a heap of an unknown version", "0");
    id_size = bytes.number(2);
    if (bytes.number(2)) file.refuse(at, "a compressed heap", "an uncompressed one");
    verify_checksum(file, at, header);
    checksums_ = (bytes.number(1) & 2) != 0;
    const std::uint64_t most_size = bytes.number(4);
    bytes.skip(96);  // the numbers and sizes of its objects, and its free parts
    width_ = bytes.number(2);
    first_size_ = bytes.number(8);
    most_direct_ = bytes.number(8);
    const std::uint64_t bits = bytes.number(2);
    bytes.skip(2);
    const std::uint64_t root = bytes.address(), rows = bytes.number(2);
    bytes.require(std::has_single_bit(width_) && std::has_single_bit(first_size_) &&
                      std::has_single_bit(most_direct_) && first_size_ <= most_direct_ &&
                      most_direct_ <= std::uint64_t{1} << 30 && bits >= 8 && bits <= 64 && rows <= depth_limit &&
                      most_size > 0,
                  "a heap of impossible sizes", "powers of two");
    offset_size_ = static_cast<std::size_t>((bits + 7) / 8);
    length_size_ = std::min(bytes_for(most_direct_), bytes_for(most_size));
    if (root == nowhere) return;
    if (rows)
      read_indirect(root, rows, 0);
    else
      read_direct(root, first_size_, 0);
  }

  /// The object of an identifier.
  Bytes object(Bytes id) const {
    const std::uint64_t flags = id.number(1);
    if (flags >> 4) file_.refuse(id.at(), "an object that is stored apart from its heap", "a smaller one");
    const std::uint64_t offset = id.number(offset_size_), length = id.number(length_size_);
    const auto next = std::ranges::upper_bound(blocks_, offset, {}, &Block::offset);
    id.require(next != blocks_.begin(), "an object outside of its heap", "one in it");
    const Block& block = *std::prev(next);
    const std::uint64_t place = offset - block.offset, size = block.bytes.size();
    id.require(place <= size && length <= size - place, "an object outside of its heap", "one in it");
    return {file_, block.at + place,
            std::span(block.bytes).subspan(static_cast<std::size_t>(place), static_cast<std::size_t>(length))};
  }

  std::uint64_t id_size = 0;

 private:
  struct Block {
    std::uint64_t offset, at;
    std::vector<std::byte> bytes;
  };

  /// The mark of a block, its heap, and its place in the heap.
  void read_prefix(Bytes& bytes, std::string_view mark, std::uint64_t offset) const {
    bytes.expect(mark);
    bytes.require(bytes.number(1) == 0 && bytes.address() == at_ && bytes.number(offset_size_) == offset,
                  "a block of another place or heap", "one of this place");
  }

  void read_direct(std::uint64_t at, std::uint64_t size, std::uint64_t offset) {
    std::vector<std::byte> block = file_.structure(at, size, owner_);
    Bytes bytes(file_, at, block);
    read_prefix(bytes, "FHDB", offset);
    if (checksums_) {
      constexpr std::size_t sum_size = 4;
      const std::uint64_t place = bytes.at() - at;
      const auto sum = bytes.take(sum_size);
      // The sum covers the block with zeros in its place.
      std::vector<std::byte> summed = block;
      std::fill_n(summed.begin() + static_cast<std::ptrdiff_t>(place), sum_size, std::byte{0});
      Bytes stored(file_, at + place, sum);
      require_checksum(file_, at + place, stored.number(sum_size), lookup3(summed));
    }
    blocks_.push_back({offset, at, std::move(block)});
  }

  std::uint64_t size_of_row(std::uint64_t row) const { return row < 2 ? first_size_ : first_size_ << (row - 1); }

  void read_indirect(std::uint64_t at, std::uint64_t rows, std::uint64_t offset) {
    constexpr std::size_t word = 8, sum_size = 4;
    const std::vector<std::byte> block =
        file_.structure(at, 4 + 1 + word + offset_size_ + rows * width_ * word + sum_size, owner_);
    verify_checksum(file_, at, block);
    Bytes bytes(file_, at, block);
    read_prefix(bytes, "FHIB", offset);
    const auto log2 = [](std::uint64_t power) { return static_cast<std::uint64_t>(std::countr_zero(power)); };
    for (std::uint64_t row = 0; row < rows; ++row) {
      bytes.require(log2(first_size_) + row < 64, "a heap of impossible sizes", "smaller ones");
      const std::uint64_t size = size_of_row(row);
      for (std::uint64_t column = 0; column < width_; ++column, offset += size) {
        const std::uint64_t child = bytes.address();
        if (child == nowhere) continue;
        if (size <= most_direct_) {
          read_direct(child, size, offset);
          continue;
        }
        bytes.require(log2(size) >= log2(first_size_ * width_), "a heap of impossible sizes", "larger blocks");
        read_indirect(child, log2(size) - log2(first_size_ * width_) + 1, offset);
      }
    }
  }

  File& file_;
  const std::uint64_t at_, owner_;
  std::uint64_t width_ = 0, first_size_ = 0, most_direct_ = 0;
  std::size_t offset_size_ = 0, length_size_ = 0;
  bool checksums_ = false;
  /// By offset.
  std::vector<Block> blocks_;
};

/// A tree of records. Source: HDF5 File Format Specification, Version 2 B-trees.
class RecordTree {
 public:
  RecordTree(File& file, std::uint64_t at, std::uint64_t owner, std::uint64_t type,
             const std::function<void(Bytes)>& visit)
      : file_(file), owner_(owner), type_(type), visit_(visit) {
    constexpr std::size_t size = 38;
    const std::vector<std::byte> header = file.structure(at, size, owner);
    verify_checksum(file, at, header);
    Bytes bytes(file, at, header);
    read_prefix(bytes, "BTHD");
    node_size_ = bytes.number(4);
    record_size_ = bytes.number(2);
    const auto depth = static_cast<std::size_t>(bytes.number(2));
    bytes.skip(2);  // when nodes are divided, and merged
    const std::uint64_t root = bytes.address(), count = bytes.number(2);
    constexpr std::uint64_t deepest = 8, around = 10;
    bytes.require(
        record_size_ > 0 && node_size_ >= around + record_size_ && node_size_ <= file.end() && depth <= deepest,
        "a tree of impossible sizes", "smaller ones");
    most_.push_back({(node_size_ - around) / record_size_, 0});
    count_size_ = bytes_for(most_.front().records);
    std::uint64_t all = most_.front().records;
    for (std::size_t level = 1; level <= depth; ++level) {
      const std::uint64_t pointer = 8 + count_size_ + most_.back().total_size;
      bytes.require(node_size_ > around + pointer && all < std::uint64_t{1} << 48, "a tree of impossible sizes",
                    "smaller ones");
      const std::uint64_t records = (node_size_ - around - pointer) / (record_size_ + pointer);
      bytes.require(records < std::uint64_t{1} << 15, "a tree of impossible sizes", "smaller ones");
      all = (records + 1) * all + records;
      most_.push_back({records, bytes_for(all)});
    }
    if (root != nowhere) read_node(root, depth, count);
  }

 private:
  struct Most {
    std::uint64_t records;
    /// Bytes of the number of all records below.
    std::size_t total_size;
  };

  void read_prefix(Bytes& bytes, std::string_view mark) const {
    bytes.expect(mark);
    bytes.require(bytes.number(1) == 0 && bytes.number(1) == type_, "a tree of other records, or another version",
                  "version 0");
  }

  void read_node(std::uint64_t at, std::size_t level, std::uint64_t count) {
    constexpr std::size_t prefix = 6, sum_size = 4;
    file_.require(count <= most_[level].records, at, "a node of too many records", "fewer");
    const std::size_t total_size = level ? most_[level - 1].total_size : 0;
    const std::uint64_t pointers = level ? (count + 1) * (8 + count_size_ + total_size) : 0;
    const std::vector<std::byte> node =
        file_.structure(at, prefix + count * record_size_ + pointers + sum_size, owner_);
    verify_checksum(file_, at, node);
    Bytes bytes(file_, at, node);
    read_prefix(bytes, level ? "BTIN" : "BTLF");
    for (std::uint64_t i = 0; i < count; ++i) visit_(bytes.part(record_size_));
    if (level == 0) return;
    for (std::uint64_t i = 0; i <= count; ++i) {
      const std::uint64_t child = bytes.address(), records = bytes.number(count_size_);
      bytes.skip(total_size);
      read_node(child, level - 1, records);
    }
  }

  File& file_;
  const std::uint64_t owner_, type_;
  const std::function<void(Bytes)>& visit_;
  std::uint64_t node_size_ = 0, record_size_ = 0;
  std::size_t count_size_ = 0;
  /// By level, from the leaves up.
  std::vector<Most> most_;
};

}  // namespace

void visit_dense(File& file, std::uint64_t owner, Bytes info, DenseKind kind,
                 const std::function<void(const Bytes&)>& visit) {
  const bool links = kind == DenseKind::links;
  info.require(info.number(1) == 0, "links or attributes of an unknown version", "0");
  if (info.number(1) & 1) info.skip(links ? 8 : 2);  // the largest number in the order of creation
  const std::uint64_t heap_at = info.address(), tree = info.address();
  if (heap_at == nowhere) return;
  const FractalHeap heap(file, heap_at, owner);
  constexpr std::uint64_t link_names = 5, attribute_names = 8;
  constexpr std::size_t hash = 4;
  RecordTree(file, tree, owner, links ? link_names : attribute_names, [&](Bytes record) {
    if (links) record.skip(hash);
    visit(heap.object(record.part(heap.id_size)));
  });
}

}  // namespace etude::hdf5
