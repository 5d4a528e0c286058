#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "etude/graph/detail/node.hpp"
#include "etude/saving/detail/onnx/onnx_file.hpp"
#include "etude/saving/detail/onnx/traces.hpp"

namespace etude::onnx {

/// Writes a graph, or the body of one of its loops, as nodes of ONNX: only those on which its results depend.
///
/// ONNX's elementwise operators broadcast, so Broadcasts and Constants are written only where another operator needs
/// all of their elements.
class GraphWriter {
 public:
  /// Of the model's graph. `names`: of the variables' initializers, by Variable::id().
  GraphWriter(OnnxFile& file, const Traces& traces, const std::map<const void*, std::string>& names);
  /// Of the body of a loop in `outer`'s graph.
  GraphWriter(GraphWriter& outer, const Graph& body);

  /// Sets the name of an Input of the graph.
  void name_input(NodeId id, const std::string& name) { full_[at(id)] = name; }
  /// Writes the nodes for these results, which get these names.
  void write(const std::vector<NodeId>& results, const Names& names);
  /// The written graph. `name` is its name.
  Message graph(const std::string& name, const std::vector<ValueInfo>& inputs,
                const std::vector<ValueInfo>& outputs) const;
  /// A Value as an input or output.
  ValueInfo info(NodeId id, const std::string& name) const;

 private:
  friend struct NodeWriter;
  static std::size_t at(NodeId id) { return static_cast<std::size_t>(id); }

  /// The tensor with all elements of a node's result.
  std::string full(NodeId id);
  /// The same for the operands of an elementwise node, which may be broadcast if the operator does the rest.
  Names elementwise_operands(const Node& node);
  /// The name for the result of a node that is written now.
  std::string result_name(NodeId id);
  /// Adds a node of one output. Without a name, which an intermediate result lacks, one is made of the operator's.
  std::string add(std::string_view op_type, const Names& inputs, const Attributes& attributes = {},
                  const std::string& output = {});
  std::string cast(const std::string& x, DType dtype, const std::string& output = {});
  std::string transpose(const std::string& x, const std::vector<std::int64_t>& order, const std::string& output = {});
  /// An int64 tensor [rank] with the extents of a node's result; 1 for those that `source`, an operand, has anyway.
  std::string extents(NodeId id, NodeId source);
  /// The number of rows times `factor`, int64 [1].
  std::string rows(std::int64_t factor);
  [[noreturn]] void refuse(NodeId id) const;

  OnnxFile& file_;
  const Traces& traces_;
  const std::map<const void*, std::string>& variable_names_;
  const Graph& graph_;
  GraphWriter* outer_ = nullptr;
  Nodes nodes_, first_nodes_;
  std::vector<bool> needed_;
  Names full_, wanted_;                       // by node
  std::map<std::int64_t, std::string> rows_;  // by factor
};

/// Writes the node `id`, with the forms of node_writer.hpp. Returns the name of its result.
std::string write_node(GraphWriter& to, NodeId id);

}  // namespace etude::onnx
