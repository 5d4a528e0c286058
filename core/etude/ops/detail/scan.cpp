#include "etude/ops/detail/scan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "etude/base/error.hpp"
#include "etude/graph/detail/loop.hpp"
#include "etude/graph/detail/rules.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

Shape stacked(const Loop& loop, const Shape& shape) { return shape.with(0, loop.steps); }

Value scan_result(const std::shared_ptr<const Loop>& loop, NodeId node, bool last, std::span<const Value> operands) {
  return operands.front().graph().append(op::Scan{loop, node, last}, operands);
}

/// The gradient of a loop: a loop in the other direction, whose body is the gradient of the body. The forward loop
/// stacks the Values of its body that the gradient needs.
class Adjoint {
 public:
  Adjoint(const op::Scan& op, const Differential& d)
      : loop_(op.loop),
        operands_(d.x),
        dy_(d.dy),
        forward_count_(static_cast<NodeId>(loop_->body.nodes().size())),
        joint_({}, loop_->body.multiplies_halves()) {
    copy_body();
    differentiate(op);
    collect_operands();
    build();
    start(op);
  }

  OperandGradients gradients() const {
    OperandGradients result;
    for (int i = 0; i < loop_->inputs(); ++i) {
      const Value dx = d_inputs_[at(i)];
      if (!dx)
        result.emplace_back();
      else if (i < loop_->carries)
        result.push_back(scan_result(back_, back_->next[at(carry_of_[at(i)])], true, back_operands_));
      else if (i < loop_->carries + loop_->sequences)
        result.push_back(at_every_step(dx.id()));
      else
        result.push_back(summed(dx.id()));
    }
    return result;
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  void copy_body() {
    for (const Node& node : loop_->body.nodes()) {
      std::vector<Value> inputs;
      for (NodeId input : node.inputs) inputs.emplace_back(joint_, input);
      const Value copy = joint_.append(node.op, inputs);
      if (const auto* input = std::get_if<op::Input>(&node.op)) {
        inputs_.resize(std::max(inputs_.size(), at(input->index) + 1));
        inputs_[at(input->index)] = copy;
      }
    }
  }

  void differentiate(const op::Scan& op) {
    // Inputs of the joint graph after the body's own: the derivatives of the target with respect to a step's next
    // carried Values and outputs.
    int index = loop_->inputs();
    const auto seed = [&](NodeId node) {
      const Node& of = joint_.node(node);
      const Value value = joint_.append(op::Input{index++, of.shape, of.dtype}, {});
      seeds_.push_back(value);
      targets_.emplace_back(joint_, node);
    };
    for (int i = 0; i < loop_->carries; ++i) {
      const bool passes = is_floating(joint_.node(loop_->next[at(i)]).dtype);
      carry_of_.push_back(passes ? static_cast<int>(seeds_.size()) : -1);
      if (passes) seed(loop_->next[at(i)]);
    }
    d_carries_ = static_cast<int>(seeds_.size());
    if (!op.last) seed(op.node);
    d_inputs_ = pull_back(targets_, seeds_, inputs_);
    for (std::size_t i = 0; i < d_inputs_.size(); ++i)
      if (!is_floating(inputs_[i].dtype())) d_inputs_[i] = {};
  }

  bool forward(NodeId id) const { return id < forward_count_; }
  const op::Input* input(NodeId id) const { return std::get_if<op::Input>(&joint_.node(id).op); }

  /// Whether the backward body computes a node itself: its own nodes, and nodes without cost.
  bool rebuilt(NodeId id) const {
    if (input(id)) return false;
    if (!forward(id)) return true;
    return std::visit(
        []<class O>(const O&) {
          return std::is_same_v<O, op::Constant> || std::is_same_v<O, op::Reshape> ||
                 std::is_same_v<O, op::Broadcast> || std::is_same_v<O, op::Slice> || std::is_same_v<O, op::Cast>;
        },
        joint_.node(id).op);
  }

  /// Whether a node is a sum of two, or a cast to another float dtype: its sum over all steps is computed from its
  /// operands' sums.
  bool is_passed(const Node& node) const {
    return std::holds_alternative<op::Add>(node.op) ||
           (std::holds_alternative<op::Cast>(node.op) && is_floating(joint_.node(node.inputs[0]).dtype));
  }

  /// Products over the batch's axis, and sums over it, are computed once for all steps: their operands are stacked
  /// instead.
  std::vector<NodeId> stacked_instead_of(NodeId id) const {
    const Node& node = joint_.node(id);
    if (forward(id)) return {id};
    const auto* product = std::get_if<op::MatMul>(&node.op);
    const auto* sum = std::get_if<op::Sum>(&node.op);
    // A constant of the loop is the same at every step, so it is not stacked.
    const auto is_loop_constant = [&](NodeId operand) { return is_constant(operand); };
    if ((product && product->transpose_a && !product->transpose_b && node.shape.rank() == 2 &&
         std::ranges::none_of(node.inputs, is_loop_constant)) ||
        (sum && sum->first == 0) || is_passed(node))
      return node.inputs;
    return {id};
  }

  void want(NodeId id) {
    if (wanted_.insert(id).second)
      if (rebuilt(id))
        for (NodeId operand : joint_.node(id).inputs) want(operand);
  }

  void want_summed(NodeId id) {
    const std::vector<NodeId> instead = stacked_instead_of(id);
    const bool passed = is_passed(joint_.node(id)) && !forward(id);
    for (NodeId operand : instead)
      if (passed)
        want_summed(operand);
      else
        want_stacked(operand);
  }

  /// Nodes that the forward loop can stack need not be computed by the backward loop.
  void want_stacked(NodeId id) {
    if (!forward(id) || rebuilt(id)) want(id);
  }

  void collect_operands() {
    for (int i = 0; i < loop_->inputs(); ++i) {
      const Value dx = d_inputs_[at(i)];
      if (!dx) continue;
      if (i < loop_->carries)
        want(dx.id());
      else if (i < loop_->carries + loop_->sequences)
        want_stacked(dx.id());
      else
        want_summed(dx.id());
    }
  }

  bool is_constant(NodeId id) const {
    const auto* leaf = input(id);
    return leaf && leaf->index >= loop_->carries + loop_->sequences && leaf->index < loop_->inputs();
  }

  /// The Value of a forward node at every step.
  Value of_forward(NodeId id) const {
    const auto* leaf = input(id);
    if (leaf && leaf->index >= loop_->carries) return operands_[at(leaf->index)];
    return scan_result(loop_, id, false, operands_);
  }

  void build() {
    back_ = std::make_shared<Loop>(loop_->body);
    Loop& back = *back_;
    back.steps = loop_->steps;
    back.reverse = !loop_->reverse;
    std::vector<Value> sequences, constants;
    const auto leaf = [&](NodeId id) { copies_[id] = back.body.input(joint_.node(id).shape, joint_.node(id).dtype); };
    for (int i = 0; i < d_carries_; ++i) leaf(seeds_[at(i)].id());
    back.carries = d_carries_;
    for (const bool constant : {false, true})
      for (NodeId id : wanted_) {
        if (rebuilt(id) || copies_.contains(id) || is_constant(id) != constant) continue;
        leaf(id);
        (constant ? constants : sequences)
            .push_back(input(id) && input(id)->index >= loop_->inputs() ? dy_ : of_forward(id));
      }
    back.sequences = static_cast<int>(sequences.size());
    back.constants = static_cast<int>(constants.size());
    for (NodeId id : wanted_) {
      if (!rebuilt(id)) continue;
      std::vector<Value> operands;
      for (NodeId operand : joint_.node(id).inputs) operands.push_back(copies_.at(operand));
      copies_[id] = back.body.append(joint_.node(id).op, operands);
    }
    back_operands_ = sequences;
    back_operands_.insert(back_operands_.end(), constants.begin(), constants.end());
  }

  /// The carried Values of the backward loop, with their initial values: zeros, or the gradients of final carried
  /// Values.
  void start(const op::Scan& op) {
    std::vector<Value> initial;
    const int last = op.last ? loop_->carry_after(op.node) : -1;
    for (int i = 0; i < loop_->carries; ++i) {
      if (carry_of_[at(i)] < 0) continue;
      const Value &carry = inputs_[at(i)], dx = d_inputs_[at(i)];
      initial.push_back(i == last ? dy_ : dy_.graph().constant(0, carry.dtype(), carry.shape()));
      back_->next.push_back(dx ? copies_.at(dx.id()).id() : back_->body.constant(0, carry.dtype(), carry.shape()).id());
    }
    back_operands_.insert(back_operands_.begin(), initial.begin(), initial.end());
  }

  Value at_every_step(NodeId id) const {
    if (input(id) && input(id)->index == loop_->inputs() + d_carries_) return dy_;
    if (forward(id) && !rebuilt(id)) return of_forward(id);
    return scan_result(back_, copies_.at(id).id(), false, back_operands_);
  }

  /// The sum of a node over all steps.
  Value summed(NodeId id) const {
    const Node& node = joint_.node(id);
    if (stacked_instead_of(id) == std::vector{id}) return ops::sum(at_every_step(id), {0});
    if (std::holds_alternative<op::Cast>(node.op)) return ops::cast(summed(node.inputs[0]), node.dtype);
    if (std::holds_alternative<op::Add>(node.op)) return summed(node.inputs[0]) + summed(node.inputs[1]);
    const auto rows = [&](NodeId operand) {
      const Value all = at_every_step(operand);
      return ops::reshape(all, {all.shape().without(-1).size(), all.shape()[-1]});
    };
    if (std::holds_alternative<op::MatMul>(node.op))
      return ops::matmul(rows(node.inputs[0]), rows(node.inputs[1]), true, false);
    std::vector<std::ptrdiff_t> axes;
    for (std::ptrdiff_t axis = 0; axis <= std::get<op::Sum>(node.op).count; ++axis) axes.push_back(axis);
    return ops::sum(at_every_step(node.inputs[0]), axes);
  }

  std::shared_ptr<const Loop> loop_;
  std::span<const Value> operands_;
  Value dy_;
  NodeId forward_count_;
  Graph joint_;                                  // the body, followed by its gradient
  std::vector<Value> inputs_, targets_, seeds_;  // of the joint graph
  std::vector<Value> d_inputs_;                  // by input of the body
  std::vector<int> carry_of_;                    // by the body's carried Value: the backward body's, or -1
  int d_carries_ = 0;
  std::set<NodeId> wanted_;         // joint nodes in the backward body
  std::map<NodeId, Value> copies_;  // by joint node: the backward body's
  std::shared_ptr<Loop> back_;
  std::vector<Value> back_operands_;
};

void check_sequences(const std::vector<Value>& sequences) {
  check(!sequences.empty(), ErrorKind::shape, "scan",
        "no sequences - expected one or more - pass sequences to loop over.");
  for (const Value& sequence : sequences)
    check(sequence.shape().rank() > 0 && sequence.shape()[0] > 0 && sequence.shape()[0] == sequences.front().shape()[0],
          ErrorKind::shape, "scan", "sequences of shapes ", sequences.front().shape(), " and ", sequence.shape(),
          " - expected an equal number of steps, 1 or more, in the first axis of each - transpose or pad them.");
}

}  // namespace

Meta op::Scan::infer(Operands x) const {
  check(static_cast<int>(x.size()) == loop->inputs(), ErrorKind::internal, "Scan", x.size(), " operands - expected ",
        loop->inputs(), " - this is a defect of the library.");
  const Node& result = loop->body.node(node);
  return {last ? result.shape : stacked(*loop, result.shape), result.dtype};
}

OperandGradients op::Scan::gradient(const Differential& d) const { return Adjoint(*this, d).gradients(); }

namespace ops {

ScanResult scan(const ScanFunction& step, const std::vector<Value>& carry, const std::vector<Value>& sequences,
                bool reverse) {
  check_sequences(sequences);
  Graph& outer = sequences.front().graph();
  const auto loop = std::make_shared<Loop>(outer);
  Graph& body = loop->body;
  loop->steps = sequences.front().shape()[0];
  loop->reverse = reverse;
  loop->carries = static_cast<int>(carry.size());
  loop->sequences = static_cast<int>(sequences.size());
  std::vector<Value> operands = carry, inner_carry, inner_inputs;
  operands.insert(operands.end(), sequences.begin(), sequences.end());
  for (const Value& x : carry) inner_carry.push_back(body.input(x.shape(), x.dtype()));
  for (const Value& x : sequences) inner_inputs.push_back(body.input(x.shape().without(0), x.dtype()));

  // Each Value of the outer trace that the step uses is a constant of the loop.
  std::map<NodeId, Value> constants;
  body.set_outer(&outer, [&](Value value) {
    Value& constant = constants[value.id()];
    if (!constant) {
      operands.push_back(value);
      constant = body.input(value.shape(), value.dtype());
      ++loop->constants;
    }
    return constant;
  });
  ScanStep made;
  {
    const Trace trace(body);
    made = step(inner_carry, inner_inputs);
    for (Value& value : made.carry) value = body.local(value, "scan");
    for (Value& value : made.outputs) value = body.local(value, "scan");
  }
  body.set_outer(nullptr);
  check(made.carry.size() == carry.size(), ErrorKind::shape, "scan", "a step that carries ", made.carry.size(),
        " Values - expected ", carry.size(), ", as many as it receives - return a Value for each.");
  for (std::size_t i = 0; i < carry.size(); ++i) {
    check(made.carry[i].shape() == carry[i].shape() && made.carry[i].dtype() == carry[i].dtype(), ErrorKind::shape,
          "scan", "a step that turns ", carry[i].shape(), ", ", carry[i].dtype(), " into ", made.carry[i].shape(), ", ",
          made.carry[i].dtype(), " - expected equal shapes and dtypes of carried Values - reshape or cast it.");
    loop->next.push_back(made.carry[i].id());
  }
  for (const Node& node : body.nodes())
    check(!std::holds_alternative<op::AllReduce>(node.op), ErrorKind::state, "scan",
          "a step that all-reduces - expected all-reduces before or after the loop - all-reduce the loop's results.");
  ScanResult result;
  for (const Value& value : made.carry) result.carry.push_back(scan_result(loop, value.id(), true, operands));
  for (const Value& value : made.outputs) result.outputs.push_back(scan_result(loop, value.id(), false, operands));
  return result;
}

}  // namespace ops
}  // namespace etude
