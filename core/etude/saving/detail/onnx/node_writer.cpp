#include "etude/saving/detail/onnx/node_writer.hpp"

#include <array>
#include <limits>
#include <numeric>

#include "etude/base/error.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude::onnx {
namespace {

std::int64_t integer(std::int64_t number) { return number; }

Attributes attributes_of(const Window& window) {
  const auto both = [](const std::array<std::int64_t, 2>& of) { return std::vector<std::int64_t>{of[0], of[1]}; };
  return {{"kernel_shape", both(window.extent)},
          {"strides", both(window.strides)},
          {"dilations", both(window.dilation)},
          {"pads", std::vector{window.before[0], window.before[1], window.after[0], window.after[1]}}};
}

}  // namespace

std::string write_node(GraphWriter& to, NodeId id) {
  NodeWriter writer{to, id};
  return std::visit([&](const auto& op) { return writer.of(op); }, writer.node().op);
}

std::string NodeWriter::of(const op::Read& op) {
  // Variables that are read in a body are constants of the loop.
  const auto found = to.variable_names_.find(op.variable.id());
  return to.file_.tensor(found == to.variable_names_.end() ? op.variable.name() : found->second, op.variable);
}

std::string NodeWriter::of(const op::Cast& op) { return to.cast(x(0), op.dtype, to.result_name(id)); }

std::string NodeWriter::of(const op::Reshape&) {
  // One extent may be given as -1. So the shape need not be computed unless several depend on the batch.
  std::vector<std::int64_t> numbers;
  int unknown = 0;
  for (std::size_t axis = 0; axis < node().shape.rank(); ++axis) {
    const Traces::Extent extent = to.traces_.extent(to.graph_, id, axis);
    numbers.push_back(extent.number.value_or(-1));
    unknown += !extent.number;
  }
  return result("Reshape", {x(0), unknown > 1 ? to.extents(id, -1) : to.file_.integers(numbers)});
}

std::string NodeWriter::of(const op::Transpose& op) {
  return to.transpose(x(0), {op.order.begin(), op.order.begin() + static_cast<int>(node().shape.rank())},
                      to.result_name(id));
}

std::string NodeWriter::of(const op::Slice& op) {
  return result("Slice", {x(0), to.file_.integers({op.first}), to.file_.integers({op.first + op.count}),
                          to.file_.integers({op.axis})});
}

std::string NodeWriter::of(const op::Reverse& op) {
  constexpr std::int64_t before_first = std::numeric_limits<std::int64_t>::min();
  const std::string back = to.file_.integers({-1});
  return result("Slice", {x(0), back, to.file_.integers({before_first}), to.file_.integers({op.axis}), back});
}

std::string NodeWriter::of(const op::Concatenate& op) {
  Names operands;
  for (std::size_t i = 0; i < node().inputs.size(); ++i) operands.push_back(x(i));
  return result("Concat", operands, {{"axis", integer(op.axis)}});
}

std::string NodeWriter::reduced(std::string_view op_type, bool axes_are_input, std::uint8_t first, std::uint8_t count) {
  std::vector<std::int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), first);
  if (axes.empty()) return x(0);
  Names inputs{x(0)};
  Attributes attributes{{"keepdims", integer(0)}};
  if (axes_are_input)
    inputs.push_back(to.file_.integers(axes));
  else
    attributes.push_back({"axes", axes});
  return result(op_type, inputs, attributes);
}

std::string NodeWriter::of(const op::Sum& op) { return reduced("ReduceSum", true, op.first, op.count); }
std::string NodeWriter::of(const op::Max& op) {
  return reduced("ReduceMax", to.file_.opset_version >= 18, op.first, op.count);
}

std::string NodeWriter::of(const op::Cumsum& op) {
  return result("CumSum", {x(0), to.file_.integer(op.axis)},
                {{"exclusive", integer(op.exclusive)}, {"reverse", integer(op.reverse)}});
}

std::string NodeWriter::of(const op::ArgMax&) {
  const std::string index = to.add("ArgMax", {x(0)}, {{"axis", integer(-1)}, {"keepdims", integer(0)}});
  return to.cast(index, DType::int32, to.result_name(id));
}

/// The largest elements of the last axis, as many as it has; equal ones are in the order of their indices.
std::string NodeWriter::of(const op::ArgSort& op) {
  const Traces::Extent extent = to.traces_.extent(to.graph_, id, node().shape.rank() - 1);
  if (!extent.number) to.refuse(id);
  const std::string order = to.file_.unique("TopK");
  to.nodes_.add("TopK", {x(0), to.file_.integers({*extent.number})}, {to.file_.unique("TopK"), order},
                {{"axis", integer(-1)}, {"largest", integer(op.descending)}});
  return to.cast(order, DType::int32, to.result_name(id));
}

/// ONNX's OneHot counts negative labels from the end.
std::string NodeWriter::of(const op::OneHot& op) {
  Tensor labels = Tensor::uninitialized({op.depth}, DType::int32);
  std::iota(labels.data<std::int32_t>().begin(), labels.data<std::int32_t>().end(), 0);
  const std::string column = to.add("Unsqueeze", {x(0), to.file_.integers({-1})});
  return to.cast(to.add("Equal", {column, to.file_.tensor("labels", labels)}), op.dtype, to.result_name(id));
}

std::string NodeWriter::of(const op::Gather&) { return result("Gather", {x(0), x(1)}, {{"axis", integer(0)}}); }

std::string NodeWriter::of(const op::ScatterAdd&) {
  const std::string zeros = to.add("Expand", {to.file_.scalar(0, node().dtype), to.extents(id, -1)});
  const std::string column = to.add("Unsqueeze", {x(1), to.file_.integers({-1})});
  const std::string index = to.add("Cast", {column}, {{"to", integer(int64_type)}});
  return result("ScatterND", {zeros, index, x(0)}, {{"reduction", std::string("add")}});
}

std::string NodeWriter::matrix(std::size_t index, bool transposed) {
  if (!transposed) return x(index);
  std::vector<std::int64_t> order(operand(index).shape.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return to.transpose(x(index), order);
}

std::string NodeWriter::of(const op::MatMul& op) {
  return result("MatMul", {matrix(0, op.transpose_a), matrix(1, op.transpose_b)});
}

std::string NodeWriter::of(const op::Convolution& op) {
  Attributes attributes = attributes_of(op.window);
  attributes.push_back({"group", operand(0).shape[3] / operand(1).shape[2]});
  return channels_last(to.add("Conv", {channels_first(0), kernel(1)}, attributes));
}

std::string NodeWriter::of(const op::ConvolutionInput& op) {
  Attributes attributes = attributes_of(op.window);
  attributes.push_back({"group", op.shape[3] / operand(1).shape[2]});
  // The inputs behind the last position of the window.
  std::vector<std::int64_t> rest;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const Window& window = op.window;
    const auto along = static_cast<std::ptrdiff_t>(axis + 1);
    const std::int64_t reached = (operand(0).shape[along] - 1) * window.strides[axis] + window.span(axis);
    rest.push_back(op.shape[along] + window.before[axis] + window.after[axis] - reached);
  }
  attributes.push_back({"output_padding", rest});
  return channels_last(to.add("ConvTranspose", {channels_first(0), kernel(1)}, attributes));
}

/// The maximum of each window is two ops here: its index, and the element at that index.
std::string NodeWriter::of(const op::PoolGather& op) {
  const auto* index = std::get_if<op::PoolArgMax>(&operand(1).op);
  if (!index || index->window != op.window || operand(1).inputs[0] != node().inputs[0]) to.refuse(id);
  return channels_last(to.add("MaxPool", {channels_first(0)}, attributes_of(op.window)));
}

std::string NodeWriter::of(const op::Softmax&) { return result("Softmax", {x(0)}, {{"axis", integer(-1)}}); }

}  // namespace etude::onnx
