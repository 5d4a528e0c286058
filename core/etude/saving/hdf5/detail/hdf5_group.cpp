#include "etude/saving/hdf5/detail/hdf5_group.hpp"

#include "etude/base/detail/utf8.hpp"
#include "etude/saving/hdf5/detail/hdf5_dense.hpp"

namespace etude::hdf5 {
namespace {

void add_link(Links& links, const std::string& name, std::uint64_t address, const Bytes& bytes) {
  bytes.require(!name.empty() && name.size() <= name_limit && is_utf8(name),
                "a name that is empty, longer than 4096 bytes, or not UTF-8", "a shorter name in UTF-8");
  bytes.require(name.find('/') == name.npos && name != "." && name != ".." && name.find('\0') == name.npos,
                "a name that is part of a path", "one without a slash");
  bytes.require(links.emplace(name, address).second, "two links of one name", "unique names");
}

/// The symbol table of an old group: a tree of tables, whose names are in a heap.
class SymbolTable {
 public:
  SymbolTable(File& file, const ObjectHeader& group) : file_(file), owner_(group.address()) {
    Bytes message = group.at(MessageType::symbol_table);
    const std::uint64_t tree = message.address(), heap = message.address();
    read_heap(heap);
    read_tree(tree, {});
  }

  Links links;

 private:
  void read_heap(std::uint64_t at) {
    constexpr std::size_t header_size = 32;
    const std::vector<std::byte> header = file_.structure(at, header_size, owner_);
    Bytes bytes(file_, at, header);
    bytes.expect("HEAP");
    bytes.require(bytes.number(1) == 0, "a heap of an unknown version", "0");
    bytes.skip(3);
    const std::uint64_t size = bytes.number(8);
    bytes.skip(8);  // the free part
    names_at_ = bytes.address();
    names_ = file_.structure(names_at_, size, owner_);
  }

  /// `level`: what the parent demands.
  void read_tree(std::uint64_t at, std::optional<std::uint64_t> level) {
    constexpr std::size_t header_size = 24, word = 8;
    const std::vector<std::byte> begin = file_.begin_of(at, header_size);
    Bytes header(file_, at, begin);
    header.expect("TREE");
    header.require(header.number(1) == 0, "a tree of chunks", "a tree of links");
    const std::uint64_t found = header.number(1), count = header.number(2);
    header.require(level ? found == *level : found < depth_limit, "a tree of the wrong depth",
                   "the depth of its place");
    const std::vector<std::byte> node = file_.structure(at, header_size + word * (2 * count + 1), owner_);
    Bytes bytes(file_, at, node);
    bytes.skip(header_size);
    for (std::uint64_t i = 0; i < count; ++i) {
      bytes.skip(word);  // the last name before the child
      const std::uint64_t child = bytes.address();
      if (found > 0)
        read_tree(child, found - 1);
      else
        read_table(child);
    }
  }

  void read_table(std::uint64_t at) {
    constexpr std::size_t header_size = 8, entry_size = 40;
    const std::vector<std::byte> begin = file_.begin_of(at, header_size);
    Bytes header(file_, at, begin);
    header.expect("SNOD");
    header.require(header.number(1) == 1, "a table of an unknown version", "1");
    header.skip(1);
    const std::uint64_t count = header.number(2);
    const std::vector<std::byte> table = file_.structure(at, header_size + entry_size * count, owner_);
    Bytes bytes(file_, at, table);
    bytes.skip(header_size);
    for (std::uint64_t i = 0; i < count; ++i) {
      Bytes entry = bytes.part(entry_size);
      const std::uint64_t place = entry.number(8), address = entry.address(), kind = entry.number(4);
      entry.require(place < names_.size(), "a name outside of its heap", "one in it");
      Bytes name(file_, names_at_ + place, std::span(names_).subspan(static_cast<std::size_t>(place)));
      const std::string text = name.text();
      entry.require(links.empty() || links.rbegin()->first < text, "names that are not in order", "rising names");
      constexpr std::uint64_t symbolic = 2;
      add_link(links, text, kind == symbolic ? nowhere : address, entry);
    }
  }

  File& file_;
  const std::uint64_t owner_;
  std::uint64_t names_at_ = 0;
  std::vector<std::byte> names_;
};

void add_link_of(Links& links, Bytes bytes) {
  const Bytes begin = bytes;
  bytes.require(bytes.number(1) == 1, "a link of an unknown version", "1");
  const std::uint64_t flags = bytes.number(1), kind = flags & 8 ? bytes.number(1) : 0;
  if (flags & 4) bytes.skip(8);   // order of creation
  if (flags & 16) bytes.skip(1);  // character set
  const auto text = bytes.take(bytes.number(std::size_t{1} << (flags & 3)));
  const std::uint64_t address = kind == 0 ? bytes.address() : nowhere;
  add_link(links, {reinterpret_cast<const char*>(text.data()), text.size()}, address, begin);
}

AttributeParts attribute_of(Bytes bytes) {
  const std::uint64_t version = bytes.number(1);
  bytes.require(version >= 1 && version <= 3, "an attribute of an unknown version", "1 to 3");
  const std::uint64_t flags = version == 1 ? 0 * bytes.number(1) : bytes.number(1);
  const std::uint64_t name_size = bytes.number(2), type_size = bytes.number(2), shape_size = bytes.number(2);
  if (version == 3) bytes.skip(1);  // character set
  const auto padded = [&](std::uint64_t size) { return version == 1 ? (size + 7) / 8 * 8 : size; };
  Bytes name = bytes.part(padded(name_size)), type = bytes.part(padded(type_size)),
        shape = bytes.part(padded(shape_size));
  std::string text = name.text();
  name.require(text.size() <= name_limit && is_utf8(text), "a name that is longer than 4096 bytes, or not UTF-8",
               "a shorter name in UTF-8");
  return {std::move(text), type, shape, bytes, (flags & 3) != 0};
}

}  // namespace

Links links_of(File& file, const ObjectHeader& group) {
  file.begin_walk();
  if (group.has(MessageType::symbol_table)) return std::move(SymbolTable(file, group).links);
  Links links;
  for (const Message& message : group.messages())
    if (message.type == MessageType::link) add_link_of(links, message.bytes);
  if (const std::optional<Bytes> info = group.find(MessageType::link_info))
    visit_dense(file, group.address(), *info, DenseKind::links, [&](const Bytes& bytes) { add_link_of(links, bytes); });
  return links;
}

void visit_attributes(File& file, const ObjectHeader& object, const std::function<void(const AttributeParts&)>& visit) {
  file.begin_walk();
  for (const Message& message : object.messages())
    if (message.type == MessageType::attribute && !message.shared) visit(attribute_of(message.bytes));
  if (const std::optional<Bytes> info = object.find(MessageType::attribute_info))
    visit_dense(file, object.address(), *info, DenseKind::attributes,
                [&](const Bytes& bytes) { visit(attribute_of(bytes)); });
}

}  // namespace etude::hdf5
