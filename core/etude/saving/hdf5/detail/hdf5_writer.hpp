#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/shape.hpp"
#include "etude/saving/hdf5/detail/hdf5_types.hpp"

namespace etude::hdf5 {

struct WrittenNode;

/// Writes HDF5 files for Keras: first everything is declared, then `start` appends all descriptions, and `append` the
/// data of the datasets in the order of their declaration, piece by piece. So it needs memory for one piece, the size
/// of the file is known before, and the file is only appended to. The same declarations give the same bytes. Files have
/// version 0, which all readers of HDF5 know. Paths are names with slashes between them; "" is the root.
class Writer {
 public:
  Writer();
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Declares a group, and those around it. Throws Error(value) for a path that is a dataset, for a path of
  /// more than 4096 bytes or 64 names, and for names that are not UTF-8.
  void group(std::string_view path);
  /// Declares a dataset, and the groups around it. `bfloat16` gets the attribute by which Keras knows it. Throws as
  /// `group` does, and for a path that exists.
  void dataset(std::string_view path, Number number, const Shape& shape);
  /// Declares an attribute of a group or dataset; of a new group, if there is nothing. Throws Error(value) for texts
  /// that are not UTF-8 or contain a NUL byte, and for a second attribute of that name.
  void text(std::string_view path, std::string_view name, std::string value);
  /// The same for a list of texts, about 4000 at most, because a description has at most 64 KiB.
  void texts(std::string_view path, std::string_view name, std::vector<std::string> values);

  /// The bytes of the whole file. Ends the declarations: later ones throw Error(internal).
  std::uint64_t size();
  /// Ends the declarations and passes all descriptions to `file`, and from then on all bytes of the file, in order.
  void start(std::function<void(std::string_view bytes)> file);
  /// Appends bytes of the datasets: little-endian elements, row-major. Throws Error(value) for too many.
  void append(std::span<const std::byte> bytes);
  /// Throws Error(internal) unless all data was appended.
  void finish();

 private:
  WrittenNode& node(std::string_view path);
  void add(std::string_view path, std::string_view name, std::vector<std::string> values, bool list);
  void lay_out();

  std::unique_ptr<WrittenNode> root_;
  /// In the order of declaration.
  std::vector<WrittenNode*> datasets_;
  /// All descriptions; empty until the declarations end.
  std::string head_;
  std::uint64_t size_ = 0;
  std::function<void(std::string_view)> file_;
  /// The dataset to which the next byte belongs, and its bytes so far.
  std::size_t current_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace etude::hdf5
