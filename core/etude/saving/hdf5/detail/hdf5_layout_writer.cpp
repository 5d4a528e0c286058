#include "etude/saving/hdf5/detail/hdf5_layout_writer.hpp"

#include <algorithm>
#include <array>

namespace etude::hdf5 {
namespace {

constexpr std::uint64_t nowhere = ~std::uint64_t{0};
constexpr std::size_t alignment = 8, half_table = 4, half_tree = 16;  // as h5py writes them
constexpr std::size_t collection_size = 4096, collection_header = 16, reference_size = 16;

std::string little_endian(std::uint64_t number, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(number >> 8 * i & 0xFF);
  return bytes;
}
std::string address(std::uint64_t number) { return little_endian(number, 8); }

std::string padded(std::string bytes, std::size_t size = alignment) {
  bytes.resize((bytes.size() + size - 1) / size * size);
  return bytes;
}

/// Class and version of a type, its bits, its size, and its properties.
std::string type_text(unsigned type_class, std::uint64_t bits, std::uint64_t size, const std::string& properties) {
  return little_endian(type_class | 0x10, 1) + little_endian(bits, 3) + little_endian(size, 4) + properties;
}

std::string integer_type(std::size_t size, bool is_signed) {
  return type_text(0, is_signed ? 8 : 0, size, little_endian(0, 2) + little_endian(8 * size, 2));
}

std::string float_type(std::size_t size, std::uint64_t exponent, std::uint64_t fraction, std::uint64_t bias) {
  constexpr std::uint64_t implied_bit = 0x20;
  return type_text(1, implied_bit | (8 * size - 1) << 8, size,
                   little_endian(0, 2) + little_endian(8 * size, 2) + little_endian(fraction, 1) +
                       little_endian(exponent, 1) + little_endian(0, 1) + little_endian(fraction, 1) +
                       little_endian(bias, 4));
}

std::string type_of(Number number) {
  switch (number) {
    case Number::float16: return float_type(2, 5, 10, 15);
    case Number::float32: return float_type(4, 8, 23, 127);
    case Number::float64: return float_type(8, 11, 52, 1023);
    case Number::bfloat16: return type_text(5, 0, 2, "");
    case Number::boolean:
      return type_text(8, 2, 1, integer_type(1, true) + padded("FALSE") + std::string("TRUE\0\0\0\0\0\1", 10));
    default: return integer_type(size_of(number), number <= Number::int64);
  }
}

/// Texts of variable length in UTF-8.
std::string text_type() { return type_text(9, 0x101, 16, integer_type(1, false)); }

std::string shape_text(std::span<const std::int64_t> extents) {
  std::string text = little_endian(1, 1) + little_endian(extents.size(), 1) + little_endian(0, 6);
  for (const std::int64_t extent : extents) text += address(static_cast<std::uint64_t>(extent));
  return text;
}

std::string message(unsigned type, const std::string& data, unsigned flags = 0) {
  const std::string body = padded(data);
  return little_endian(type, 2) + little_endian(body.size(), 2) + little_endian(flags, 4) + body;
}

class HeadWriter {
 public:
  explicit HeadWriter(std::span<WrittenNode* const> datasets) : datasets_(datasets) {}

  std::string write(const WrittenNode& root) {
    constexpr std::size_t superblock_size = 96;
    head_.resize(superblock_size);
    add_texts(root);
    end_collection();
    const std::uint64_t root_at = add_node(root);
    std::uint64_t end = head_.size();
    for (const WrittenNode* dataset : datasets_) {
      if (dataset->bytes()) put(data_places_.at(dataset), address(end));
      end += dataset->padded_bytes();
    }
    put(0, "\x89HDF\r\n\x1a\n" + std::string("\0\0\0\0\0\10\10\0", 8) + little_endian(half_table, 2) +
               little_endian(half_tree, 2) + little_endian(0, 4) + address(0) + address(nowhere) + address(end) +
               address(nowhere) + entry(0, root_at, root));
    return std::move(head_);
  }

 private:
  void put(std::uint64_t at, const std::string& bytes) {
    head_.replace(static_cast<std::size_t>(at), bytes.size(), bytes);
  }
  /// Appends a structure and returns its place.
  std::uint64_t add(const std::string& bytes) {
    const std::uint64_t at = head_.size();
    head_ += padded(bytes);
    return at;
  }

  /// An entry of a symbol table: the place of the name, the object, and the tree and heap of a group.
  std::string entry(std::uint64_t name, std::uint64_t object, const WrittenNode& node) {
    std::string text = address(name) + address(object);
    if (node.is_dataset) return text + little_endian(0, 8) + address(0) + address(0);
    const auto& [tree, heap] = groups_.at(&node);
    return text + little_endian(1, 8) + address(tree) + address(heap);
  }

  std::uint64_t add_node(const WrittenNode& node) {
    std::string messages;
    std::uint64_t count = 1, data_place = 0;
    if (node.is_dataset) {
      messages = message(1, shape_text({node.shape.begin(), node.shape.end()})) + message(3, type_of(node.number), 1) +
                 message(5, std::string("\2\2\2\1\0\0\0\0", 8), 1);  // filled with zeros
      constexpr std::size_t before_address = 10;
      data_place = messages.size() + before_address;
      messages += message(8, std::string("\3\1", 2) + address(nowhere) + address(node.bytes()));
      count = 4;
    } else {
      const auto [tree, heap] = add_members(node);
      groups_[&node] = {tree, heap};
      messages = message(0x11, address(tree) + address(heap));
    }
    for (const WrittenAttribute& attribute : node.attributes) {
      const auto size = static_cast<std::int64_t>(attribute.values.size());
      const std::string type = text_type(),
                        shape = shape_text(std::span(&size, attribute.list ? std::size_t{1} : std::size_t{0}));
      std::string text = little_endian(1, 2) + little_endian(attribute.name.size() + 1, 2) +
                         little_endian(type.size(), 2) + little_endian(shape.size(), 2) +
                         padded(attribute.name + '\0') + padded(type) + padded(shape);
      for (std::size_t i = 0; i < attribute.values.size(); ++i) text += references_[next_reference_++];
      messages += message(0x0C, text);
      ++count;
    }
    constexpr std::size_t prefix = 16;
    const std::uint64_t at = add(little_endian(1, 2) + little_endian(count, 2) + little_endian(1, 4) +
                                 little_endian(messages.size(), 4) + little_endian(0, 4) + messages);
    if (node.is_dataset) data_places_[&node] = at + prefix + data_place;
    return at;
  }

  /// The heap of the names, the tables and the tree of a group, after its members. Returns tree and heap.
  std::pair<std::uint64_t, std::uint64_t> add_members(const WrittenNode& group) {
    std::vector<std::uint64_t> objects;
    for (const auto& [name, member] : group.members) objects.push_back(add_node(*member));
    std::string names(alignment, '\0'), table;
    std::vector<Child> level;
    std::size_t index = 0;
    constexpr std::size_t table_size = 8 + 2 * half_table * 40;
    const auto end_table = [&](std::size_t count, std::uint64_t last) {
      table = std::string("SNOD\1\0", 6) + little_endian(count, 2) + table;
      table.resize(table_size);
      level.push_back({add(table), last});
      table.clear();
    };
    for (const auto& [name, member] : group.members) {
      const std::uint64_t place = names.size();
      names += padded(name + '\0');
      table += entry(place, objects[index], *member);
      ++index;
      if (index % (2 * half_table) == 0 || index == group.members.size())
        end_table((index - 1) % (2 * half_table) + 1, place);
    }
    const std::uint64_t tree = add_tree(level);
    constexpr std::uint64_t no_free_part = 1;
    const std::uint64_t heap = head_.size();
    add(std::string("HEAP\0\0\0\0", 8) + address(names.size()) + address(no_free_part) + address(heap + 32) + names);
    return {tree, heap};
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
      std::uint64_t last = 0;  // the empty name at the beginning of the heap
      for (std::size_t i = 0; i < nodes; ++i) {
        const std::size_t begin = i * most, end = std::min(children.size(), begin + most);
        std::string node = std::string("TREE\0", 5) + little_endian(level, 1) + little_endian(end - begin, 2) +
                           address(i ? first + (i - 1) * node_size : nowhere) +
                           address(i + 1 < nodes ? first + (i + 1) * node_size : nowhere) + address(last);
        for (std::size_t child = begin; child < end; ++child) {
          last = children[child].last;
          node += address(children[child].at) + address(last);
        }
        node.resize(node_size);
        parents.push_back({add(node), last});
      }
      if (nodes == 1) return parents.front().at;
      children = std::move(parents);
    }
  }

  /// The texts of all attributes, in the order in which add_node needs their references.
  void add_texts(const WrittenNode& node) {
    for (const auto& [name, member] : node.members) add_texts(*member);
    for (const WrittenAttribute& attribute : node.attributes)
      for (const std::string& value : attribute.values) references_.push_back(stored(value));
  }

  /// Adds a text to a collection and returns what refers to it: its length, its collection, and its number there.
  std::string stored(const std::string& text) {
    if (text.empty()) return std::string(reference_size, '\0');
    // The number of references, reserved, the length, the text; before it, its number.
    const std::string object = little_endian(1, 6) + address(text.size()) + padded(text);
    if (collection_.size() + 2 + object.size() > collection_size - collection_header) end_collection();
    collection_ += little_endian(++objects_, 2) + object;
    return little_endian(text.size(), 4) + address(head_.size()) + little_endian(objects_, 4);
  }

  void end_collection() {
    if (!objects_) return;
    const std::size_t size = std::max(collection_size, collection_header + collection_.size()),
                      free = size - collection_header - collection_.size();
    constexpr std::size_t object_header = 16;
    std::string bytes = std::string("GCOL\1\0\0\0", 8) + address(size) + collection_;
    if (free >= object_header) bytes += address(0) + address(free);
    bytes.resize(size);
    add(bytes);
    collection_.clear();
    objects_ = 0;
  }

  std::span<WrittenNode* const> datasets_;
  std::string head_;
  std::map<const WrittenNode*, std::pair<std::uint64_t, std::uint64_t>> groups_;
  std::map<const WrittenNode*, std::uint64_t> data_places_;
  std::vector<std::string> references_;
  std::size_t next_reference_ = 0;
  /// The objects of the collection that will be added next.
  std::string collection_;
  std::uint64_t objects_ = 0;
};

}  // namespace

std::string head_of(const WrittenNode& root, std::span<WrittenNode* const> datasets) {
  return HeadWriter(datasets).write(root);
}

}  // namespace etude::hdf5
