#include "etude/saving/hdf5/detail/hdf5_layout_writer.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace etude::hdf5 {
namespace {

constexpr std::uint64_t nowhere = ~std::uint64_t{0};
constexpr std::size_t alignment = 8, half_table = 4, half_tree = 16;  // as h5py writes them
constexpr std::size_t collection_size = 4096, collection_header = 16;

/// Bytes to which numbers and texts are appended.
struct Out {
  std::string bytes;

  /// A little-endian number.
  void number(std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i & 0xFF);
  }
  void word(std::uint64_t value) { number(value, 8); }
  void text(std::string_view text) { bytes += text; }
  /// Zeros up to a multiple of 8 bytes.
  void pad() { bytes.resize((bytes.size() + alignment - 1) / alignment * alignment); }
  void padded(std::string_view added) {
    text(added);
    pad();
  }
  std::size_t size() const { return bytes.size(); }
};

/// Class and version of a type, its bits, its size.
void begin_type(Out& out, unsigned type_class, std::uint64_t bits, std::uint64_t size) {
  out.number(type_class | 0x10, 1);
  out.number(bits, 3);
  out.number(size, 4);
}

void add_integer_type(Out& out, std::size_t size, bool is_signed) {
  begin_type(out, 0, is_signed ? 8 : 0, size);
  out.number(0, 2);
  out.number(8 * size, 2);
}

void add_float_type(Out& out, std::size_t size, std::uint64_t exponent, std::uint64_t bias) {
  constexpr std::uint64_t implied_bit = 0x20;
  const std::uint64_t fraction = 8 * size - 1 - exponent;
  begin_type(out, 1, implied_bit | (8 * size - 1) << 8, size);
  out.number(0, 2);
  out.number(8 * size, 2);
  out.number(fraction, 1);  // the place of the exponent
  out.number(exponent, 1);
  out.number(0, 1);
  out.number(fraction, 1);
  out.number(bias, 4);
}

void add_type(Out& out, Number number) {
  switch (number) {
    case Number::float16: return add_float_type(out, 2, 5, 15);
    case Number::float32: return add_float_type(out, 4, 8, 127);
    case Number::float64: return add_float_type(out, 8, 11, 1023);
    case Number::bfloat16: return begin_type(out, 5, 0, 2);
    case Number::boolean:
      begin_type(out, 8, 2, 1);
      add_integer_type(out, 1, true);
      return out.text({"FALSE\0\0\0TRUE\0\0\0\0\0\1", 18});
    default: return add_integer_type(out, size_of(number), number <= Number::int64);
  }
}

void add_shape(Out& out, std::span<const std::int64_t> extents) {
  out.number(1, 1);
  out.number(extents.size(), 1);
  out.number(0, 6);
  for (const std::int64_t extent : extents) out.word(static_cast<std::uint64_t>(extent));
}

/// The messages of an object's header.
struct Messages {
  Out out;
  std::uint64_t count = 0;

  void add(unsigned type, Out data, unsigned flags = 0) {
    data.pad();
    out.number(type, 2);
    out.number(data.size(), 2);
    out.number(flags, 4);
    out.text(data.bytes);
    ++count;
  }
};

class HeadWriter {
 public:
  explicit HeadWriter(std::span<WrittenNode* const> datasets) : datasets_(datasets) {}

  std::string write(const WrittenNode& root) {
    constexpr std::size_t superblock_size = 96;
    head_.bytes.resize(superblock_size);
    add_texts(root);
    end_collection();
    const std::uint64_t root_at = add_node(root);
    std::uint64_t end = head_.size();
    for (const WrittenNode* dataset : datasets_) {
      Out at;
      at.word(end);
      if (dataset->bytes()) put(data_places_.at(dataset), at);
      end += dataset->padded_bytes();
    }
    Out superblock;
    superblock.text({"\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0", 16});
    superblock.number(half_table, 2);
    superblock.number(half_tree, 2);
    superblock.number(0, 4);
    for (const std::uint64_t address : {std::uint64_t{0}, nowhere, end, nowhere}) superblock.word(address);
    add_entry(superblock, 0, root_at, root);
    put(0, superblock);
    return std::move(head_.bytes);
  }

 private:
  void put(std::size_t at, const Out& out) { head_.bytes.replace(at, out.size(), out.bytes); }
  /// Appends a structure and returns its place.
  std::uint64_t add(std::string_view bytes) {
    const std::uint64_t at = head_.size();
    head_.padded(bytes);
    return at;
  }

  /// An entry of a symbol table: the place of the name, the object, and the tree and heap of a group.
  void add_entry(Out& out, std::uint64_t name, std::uint64_t object, const WrittenNode& node) {
    const std::pair<std::uint64_t, std::uint64_t> members =
        node.is_dataset ? std::pair<std::uint64_t, std::uint64_t>() : groups_.at(&node);
    out.word(name);
    out.word(object);
    out.word(node.is_dataset ? 0 : 1);
    out.word(members.first);
    out.word(members.second);
  }

  std::uint64_t add_node(const WrittenNode& node) {
    Messages messages;
    Out data;
    std::size_t data_place = 0;
    if (node.is_dataset) {
      add_shape(data, {node.shape.begin(), node.shape.end()});
      messages.add(1, std::exchange(data, {}));
      add_type(data, node.number);
      messages.add(3, std::exchange(data, {}), 1);
      messages.add(5, {std::string("\2\2\2\1\0\0\0\0", 8)}, 1);  // filled with zeros
      constexpr std::size_t before_address = 10;
      data_place = messages.out.size() + before_address;
      data.text("\3\1");
      data.word(nowhere);
      data.word(node.bytes());
      messages.add(8, std::exchange(data, {}));
    } else {
      const auto [tree, heap] = groups_[&node] = add_members(node);
      data.word(tree);
      data.word(heap);
      messages.add(0x11, std::exchange(data, {}));
    }
    for (const WrittenAttribute& attribute : node.attributes) messages.add(0x0C, attribute_message(attribute));
    constexpr std::size_t prefix_size = 16;
    Out header;
    header.number(1, 2);
    header.number(messages.count, 2);
    header.number(1, 4);
    header.word(messages.out.size());
    header.text(messages.out.bytes);
    const std::uint64_t at = add(header.bytes);
    if (node.is_dataset) data_places_[&node] = static_cast<std::size_t>(at) + prefix_size + data_place;
    return at;
  }

  /// Texts of variable length in UTF-8.
  Out attribute_message(const WrittenAttribute& attribute) {
    const auto size = static_cast<std::int64_t>(attribute.values.size());
    Out type, shape, out;
    begin_type(type, 9, 0x101, 16);
    add_integer_type(type, 1, false);
    add_shape(shape, std::span(&size, attribute.list ? std::size_t{1} : std::size_t{0}));
    out.number(1, 2);
    for (const std::size_t part : {attribute.name.size() + 1, type.size(), shape.size()}) out.number(part, 2);
    out.padded({attribute.name.c_str(), attribute.name.size() + 1});
    out.padded(type.bytes);
    out.padded(shape.bytes);
    for (const std::string& value : attribute.values) {
      const auto& [at, number] = references_[next_reference_++];
      out.number(value.size(), 4);
      out.word(at);
      out.number(number, 4);
    }
    return out;
  }

  /// The tables, the tree and the heap of a group, after its members. Returns tree and heap.
  std::pair<std::uint64_t, std::uint64_t> add_members(const WrittenNode& group) {
    std::vector<std::uint64_t> objects;
    for (const auto& [name, member] : group.members) objects.push_back(add_node(*member));
    constexpr std::size_t most = 2 * half_table, table_size = 8 + most * 40;
    Out names;
    names.word(0);  // the empty name, before all others
    std::vector<Child> tables;
    auto member = group.members.begin();
    for (std::size_t begin = 0; begin < objects.size(); begin += most) {
      const std::size_t end = std::min(begin + most, objects.size());
      Out table;
      table.text({"SNOD\1\0", 6});
      table.number(end - begin, 2);
      std::uint64_t place = 0;
      for (std::size_t i = begin; i < end; ++i, ++member) {
        place = names.size();
        names.padded({member->first.c_str(), member->first.size() + 1});
        add_entry(table, place, objects[i], *member->second);
      }
      table.bytes.resize(table_size);
      tables.push_back({add(table.bytes), place});
    }
    const std::uint64_t tree = add_tree(std::move(tables));
    constexpr std::uint64_t no_free_part = 1, header_size = 32;
    Out heap;
    heap.text({"HEAP\0\0\0\0", 8});
    for (const std::uint64_t word : {std::uint64_t{names.size()}, no_free_part, head_.size() + header_size})
      heap.word(word);
    heap.text(names.bytes);
    return {tree, add(heap.bytes)};
  }

  /// A table, or a node of a tree, and the place of its last name.
  struct Child {
    std::uint64_t at, last;
  };

  std::uint64_t add_tree(std::vector<Child> children) {
    constexpr std::size_t most = 2 * half_tree, node_size = 24 + (2 * most + 1) * 8;
    for (std::uint64_t level = 0;; ++level) {
      const std::size_t nodes = std::max<std::size_t>(1, (children.size() + most - 1) / most);
      const std::uint64_t first = head_.size();
      std::vector<Child> parents;
      std::uint64_t last = 0;
      for (std::size_t i = 0; i < nodes; ++i) {
        const std::size_t begin = i * most, end = std::min(children.size(), begin + most);
        Out node;
        node.text({"TREE\0", 5});
        node.number(level, 1);
        node.number(end - begin, 2);
        node.word(i ? first + (i - 1) * node_size : nowhere);
        node.word(i + 1 < nodes ? first + (i + 1) * node_size : nowhere);
        node.word(last);
        for (std::size_t child = begin; child < end; ++child) {
          last = children[child].last;
          node.word(children[child].at);
          node.word(last);
        }
        node.bytes.resize(node_size);
        parents.push_back({add(node.bytes), last});
      }
      if (nodes == 1) return parents.front().at;
      children = std::move(parents);
    }
  }

  /// Stores the texts of all attributes, in the order in which add_node refers to them.
  void add_texts(const WrittenNode& node) {
    for (const auto& [name, member] : node.members) add_texts(*member);
    for (const WrittenAttribute& attribute : node.attributes)
      for (const std::string& value : attribute.values) store(value);
  }

  /// Adds a text to a collection. An empty one is nowhere.
  void store(const std::string& text) {
    if (text.empty()) return references_.push_back({});
    constexpr std::size_t object_header = 16;
    if (collection_.size() + object_header + text.size() > collection_size - collection_header) end_collection();
    collection_.number(++objects_, 2);
    collection_.number(1, 6);  // the number of references, reserved
    collection_.word(text.size());
    collection_.padded(text);
    references_.push_back({head_.size(), objects_});
  }

  void end_collection() {
    if (!objects_) return;
    const std::size_t size = std::max(collection_size, collection_header + collection_.size());
    Out out;
    out.text({"GCOL\1\0\0\0", 8});
    out.word(size);
    out.text(collection_.bytes);
    constexpr std::size_t object_header = 16;
    if (const std::size_t free = size - out.size(); free >= object_header) {
      out.word(0);
      out.word(free);
    }
    out.bytes.resize(size);
    add(out.bytes);
    collection_ = {};
    objects_ = 0;
  }

  /// Where a text is: its collection, and its number there.
  struct Reference {
    std::uint64_t at = 0, number = 0;
  };

  std::span<WrittenNode* const> datasets_;
  Out head_;
  std::map<const WrittenNode*, std::pair<std::uint64_t, std::uint64_t>> groups_;
  std::map<const WrittenNode*, std::size_t> data_places_;
  std::vector<Reference> references_;
  std::size_t next_reference_ = 0;
  /// The objects of the collection that will be added next.
  Out collection_;
  std::uint64_t objects_ = 0;
};

}  // namespace

std::string head_of(const WrittenNode& root, std::span<WrittenNode* const> datasets) {
  return HeadWriter(datasets).write(root);
}

}  // namespace etude::hdf5
