#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "etude/graph/detail/node.hpp"
#include "etude/saving/detail/onnx/graph_writer.hpp"

namespace etude::onnx {

/// Writes a node of a graph as nodes of ONNX, in the operators' form since version 17.
struct NodeWriter {
  GraphWriter& to;
  NodeId id;

  /// For each op its form. Returns the name of the result.
  std::string of(const op::Read& op);
  std::string of(const op::Cast& op);
  std::string of(const op::StopGradient&) { return x(0); }
  std::string of(const op::AllReduce&) { return x(0); }
  std::string of(const op::Reshape&);
  std::string of(const op::Transpose& op);
  std::string of(const op::Slice& op);
  std::string of(const op::Reverse& op);
  std::string of(const op::Concatenate& op);
  std::string of(const op::Sum& op);
  std::string of(const op::Cumsum& op);
  std::string of(const op::Max& op);
  std::string of(const op::ArgMax&);
  std::string of(const op::ArgSort& op);
  std::string of(const op::OneHot& op);
  std::string of(const op::Gather&);
  std::string of(const op::ScatterAdd& op);
  std::string of(const op::MatMul& op);
  std::string of(const op::Convolution& op);
  std::string of(const op::ConvolutionInput& op);
  std::string of(const op::PoolGather& op);
  std::string of(const op::Softmax&);
  std::string of(const op::Scan& op);
  /// Elementwise functions are rows of a table; other ops have no form.
  template <class O> std::string of(const O&) {
    if constexpr (is_elementwise<O>)
      return elementwise();
    else
      to.refuse(id);
  }

  const Node& node() const { return to.graph_.node(id); }
  const Node& operand(std::size_t index) const { return to.graph_.node(node().inputs[index]); }
  /// An operand.
  std::string x(std::size_t index) { return to.full(node().inputs[index]); }
  /// Adds the node that gives the result.
  std::string result(std::string_view op_type, const Names& inputs, const Attributes& attributes = {}) {
    return to.add(op_type, inputs, attributes, to.result_name(id));
  }
  std::string elementwise();
  std::string reduced(std::string_view op_type, bool axes_are_input, std::uint8_t first, std::uint8_t count);
  /// x with the last two axes exchanged, if `transposed`.
  std::string matrix(std::size_t index, bool transposed);
  /// From channels last to ONNX's channels first, and back.
  std::string channels_first(std::size_t index) { return to.transpose(x(index), {0, 3, 1, 2}); }
  std::string channels_last(const std::string& y) { return to.transpose(y, {0, 2, 3, 1}, to.result_name(id)); }
  /// A kernel [height, width, inputs, filters] in ONNX's order.
  std::string kernel(std::size_t index) { return to.transpose(x(index), {3, 2, 0, 1}); }
};

}  // namespace etude::onnx
