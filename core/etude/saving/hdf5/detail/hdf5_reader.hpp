#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/file_source.hpp"
#include "etude/base/tensor.hpp"
#include "etude/saving/hdf5/detail/hdf5_file.hpp"
#include "etude/saving/hdf5/detail/hdf5_group.hpp"
#include "etude/saving/hdf5/detail/hdf5_types.hpp"

namespace etude::hdf5 {

/// The kind of object that a name in a group refers to. `other`: types, and links to paths or other files, which are
/// not followed.
enum class ObjectKind : std::uint8_t { group, dataset, other };

/// A name in a group.
struct Entry {
  std::string name;
  ObjectKind kind;
};

/// Reads HDF5 files of Keras, and others like them: groups and datasets of numbers, and attributes of texts. It reads
/// only the requested objects, so a large file needs memory for one tensor and one chunk. A path is names with slashes
/// between them; "" or "/" is the root.
///
/// Everything is checked against the file before memory is allocated. No byte belongs to two structures, so the file's
/// size bounds memory and time. Compressed datasets expand together to at most 100 times the file's size, or 1 MiB if
/// that is more, or the chosen limit. Only the file itself is read: links to paths and to other files, and data in
/// other files, are errors. Throws Error(data), with the file and the byte, for files that cannot be read, and
/// Error(io) if the host cannot read. Source: HDF5 File Format Specification 3.0; versions 0 to 3 of the superblock.
class Reader {
 public:
  /// `name` is the file's in errors. `limit`: the most bytes of compressed datasets, expanded.
  Reader(std::shared_ptr<FileSource> source, std::string name, std::optional<std::uint64_t> limit = {});
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// The names in a group, in alphabetical order of their bytes. Throws Error(data) for a path of another kind.
  std::vector<Entry> list(std::string_view group);
  /// The kind of the object at a path; empty if there is none.
  std::optional<ObjectKind> kind(std::string_view path);
  /// The paths of all datasets, in the order of `list`. Throws Error(data) if groups contain each other.
  std::vector<std::string> datasets();

  /// The dataset at a path. Throws Error(data) if there is none, and for forms that are not supported.
  Dataset dataset(std::string_view path);
  /// Reads all elements as they are, in the byte order of this machine. `out` has dataset.bytes().
  void read(const Dataset& dataset, std::span<std::byte> out);
  /// Reads all elements, converted to the dtype of `into`, which has the dataset's shape. Floats are rounded; integers
  /// must fit. Throws Error(data) if they do not, or if the numbers are of another kind: floats for integers.
  void read(const Dataset& dataset, Tensor& into);
  /// The same into a new tensor: by default of the dtype of the file, or int32 for integers that Étude lacks.
  Tensor read(const Dataset& dataset, std::optional<DType> dtype = {});

  /// The names of the attributes of a group or dataset, in the order of the file.
  std::vector<std::string> attributes(std::string_view path);
  /// The texts of an attribute: one, or those of a list; nothing if there is no such attribute. Keras divides long
  /// lists into `name0`, `name1`, …, which are joined. Throws Error(data) if it holds numbers.
  std::optional<std::vector<std::string>> texts(std::string_view path, std::string_view name);
  /// The text of an attribute that is not a list; nothing if there is no such attribute.
  std::optional<std::string> text(std::string_view path, std::string_view name);

 private:
  void read_superblock();
  /// The address of the object at a path, `nowhere` for a link that is not followed; nothing if there is none.
  std::optional<std::uint64_t> find(std::string_view path);
  /// The same; throws Error(data).
  ObjectHeader object(std::string_view path);
  const Links& links(std::uint64_t group);
  ObjectKind kind_of(std::uint64_t address);
  void append_datasets(std::uint64_t group, const std::string& before, std::set<std::uint64_t>& seen,
                       std::vector<std::string>& paths);
  std::optional<std::vector<std::string>> texts_of(const ObjectHeader& object, const std::string& name);
  std::vector<std::string> texts_in(const AttributeParts& attribute);
  std::string global_text(Bytes reference);

  /// The objects of a collection of texts, by number.
  struct Collection {
    std::vector<std::byte> bytes;
    std::map<std::uint64_t, Bytes> objects;
  };
  const Collection& collection(std::uint64_t at);

  File file_;
  std::uint64_t limit_;
  std::uint64_t root_ = 0;
  std::map<std::uint64_t, Links> links_;
  std::map<std::uint64_t, ObjectKind> kinds_;
  std::map<std::uint64_t, Collection> collections_;
  /// Compressed datasets that count towards the limit, and their sum.
  std::set<std::uint64_t> counted_;
  std::uint64_t expanded_ = 0;
};

}  // namespace etude::hdf5
