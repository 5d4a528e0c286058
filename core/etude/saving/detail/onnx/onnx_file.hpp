#pragma once

/// Private to core/saving/detail/onnx: files of ONNX. Names of messages, of operators and of attributes are those of
/// https://onnx.ai/onnx/repo-docs/IR.html and https://onnx.ai/onnx/operators.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "etude/base/tensor.hpp"
#include "etude/graph/variable.hpp"

namespace etude::onnx {

/// A message in protobuf's encoding.
struct Message {
  std::string bytes;
};

/// An attribute of a node: an integer, several, a text, or a graph.
struct Attribute {
  std::string_view name;
  std::variant<std::int64_t, std::vector<std::int64_t>, std::string, Message> value;
};
using Attributes = std::vector<Attribute>;
using Names = std::vector<std::string>;

/// An extent of an input or output: a number, or the name of an extent that may be any number.
using Extent = std::variant<std::int64_t, std::string>;
/// An input or output of a graph.
struct ValueInfo {
  std::string name;
  DType dtype;
  std::vector<Extent> shape;
};

/// ONNX's number of a dtype.
std::int32_t data_type(DType dtype);
/// That of its shapes and axes, which Étude has no tensors of.
inline constexpr std::int32_t int64_type = 7;

/// The nodes of a graph, in the order in which they are computed.
class Nodes {
 public:
  void add(std::string_view op_type, const Names& inputs, const Names& outputs, const Attributes& attributes = {});
  /// The complete graph, without the file's initializers: so it is the body of a loop. `before`: fields that precede.
  Message graph(const std::string& name, const std::vector<ValueInfo>& inputs, const std::vector<ValueInfo>& outputs,
                const std::string& before = {}) const;
  /// The messages of all nodes, as fields of a graph.
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// A file to write: its first bytes, then initializers, each with the bytes before those of its tensor.
struct FileContents {
  struct Initializer {
    std::string head;
    /// Makes the tensor, whose bytes follow the head; null if the head has them.
    std::function<Tensor()> read = {};
    std::size_t bytes = 0;

    std::size_t size() const { return head.size() + (read ? bytes : 0); }
  };
  std::string head;
  std::vector<Initializer> initializers;

  std::size_t size() const;
  /// Calls `visit` with all bytes, piece by piece. One tensor is in memory at a time.
  void visit_pieces(const std::function<void(std::string_view bytes)>& visit) const;
};

/// Shared by the graphs of a file: names, and initializers, the tensors that the file contains.
class OnnxFile {
 public:
  explicit OnnxFile(int version) : opset_version(version) {}

  /// The version of the set of operators.
  const int opset_version;

  /// `wanted`, or a name that begins with it and was not given before.
  std::string unique(std::string_view wanted);
  /// Adds a tensor. Returns its name, which begins with `wanted`.
  std::string tensor(std::string_view wanted, const Tensor& value);
  /// Adds the value of a variable, which is read when the file is written.
  std::string tensor(std::string_view wanted, const Variable& variable);
  /// A scalar; equal ones are one initializer.
  std::string scalar(double value, DType dtype);
  /// int64 numbers [count], the type of shapes and axes; equal ones are one initializer.
  std::string integers(const std::vector<std::int64_t>& numbers);
  /// One int64 number [].
  std::string integer(std::int64_t number);

  /// The file with this graph.
  FileContents model(const Message& graph) const;

 private:
  std::string numbers(const std::vector<std::int64_t>& numbers, bool scalar);
  std::string known(std::string_view wanted, const std::vector<std::int64_t>& extents, std::int32_t type,
                    std::string_view bytes);
  /// Adds an initializer whose tensor has `bytes` bytes. `read` makes it, or the caller appends these bytes to the
  /// head.
  FileContents::Initializer& add(const std::string& name, const std::vector<std::int64_t>& extents, std::int32_t type,
                                 std::size_t bytes, std::function<Tensor()> read = {});

  std::set<std::string, std::less<>> names_;
  std::map<std::string, std::string, std::less<>> known_;  // by dtype, extents and bytes: the name
  std::vector<FileContents::Initializer> initializers_;
};

}  // namespace etude::onnx
