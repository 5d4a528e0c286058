#include "etude/execution/program_builder.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "etude/base/detail/alternatives.hpp"
#include "etude/execution/access.hpp"
#include "etude/execution/live_numbers.hpp"
#include "etude/execution/node_kinds.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {

using instruction::Access;
using instruction::Lane;
using instruction::lane_of;
using instruction::Opcode;
using instruction::Program;

namespace {

using instruction::opcode_of;

std::optional<Opcode> opcode_of(const Op& op) {
  static constexpr auto codes = for_alternatives<OpVariant>([]<class O>() -> std::optional<Opcode> {
    if constexpr (is_elementwise<O>)
      return opcode_of<O>();
    else
      return std::nullopt;
  });
  return codes[op.index()];
}

class Builder {
 public:
  Builder(const Fused& fused, const Group& group)
      : fused_(fused),
        graph_(fused.flow.graph),
        group_(group),
        members_(program_members(fused.flow, group, fused.recomputed)) {}

  VirtualProgram build() {
    // Loaded registers come first, so they get their numbers before any temporary.
    for (NodeId member : members_) scan(member);
    next_ = static_cast<std::uint16_t>(inputs_.size() + immediates_.size());
    for (NodeId member : members_) translate(member);
    for (NodeId member : group_.members)
      if (fused_.escapes[member]) {
        result_.outputs.push_back(member);
        result_.program.outputs.push_back({values_.at(member).reg, per_row(member)});
      }
    allocate_registers();
    for (const auto& input : inputs_)
      result_.program.inputs.push_back({lane_of(graph_.node(input.source).dtype), input.per_row});
    result_.program.row = group_.row;
    result_.inputs = inputs_;
    result_.program.immediates = immediates_;
    return std::move(result_);
  }

 private:
  struct Register {
    std::uint16_t reg;
    Lane lane;
  };

  bool inside(NodeId id) const { return std::ranges::binary_search(members_, id); }
  /// Whether a member has one number for each row of the group.
  bool per_row(NodeId member) const { return graph_.node(member).shape.size() != group_.size; }

  /// Whether a member reads all elements of a row. Its result may still be one number per row.
  bool reads_elements(NodeId member) const {
    const Op& op = graph_.node(member).op;
    return !per_row(member) || std::holds_alternative<op::Sum>(op) || std::holds_alternative<op::Max>(op);
  }

  /// A member's operand, behind views: a node in memory or in the group, with the access to it; or a number. `per_row`:
  /// memory that is read so has one number per row.
  struct Source {
    NodeId node;
    Access access;
    std::int64_t offset = 0;
    bool number = false, per_row = false;
  };

  Source resolve(NodeId operand) const {
    const NodeId base = fused_.flow.base[operand];
    const Node& node = graph_.node(base);
    const bool per_row = node.shape.size() != group_.size;
    if (std::holds_alternative<op::Constant>(node.op)) return {base, {}, 0, true};
    if (inside(base)) return {base, broadcast_access(node.shape, node.shape)};
    if (is_window(node)) return resolve_window(node);
    Access access;
    access.kind = node.shape.size() == 1 ? Access::Kind::scalar : Access::Kind::contiguous;
    return {base, access, 0, false, per_row};
  }

  Source resolve_window(const Node& node) const {
    const NodeId from = node.inputs[0], inner = fused_.flow.base[from];
    const bool per_row = node.shape.size() != group_.size;
    if (std::holds_alternative<op::Constant>(graph_.node(inner).op)) return {inner, {}, 0, true};
    const Shape& shape = graph_.node(from).shape;
    Shape steps = strides(shape);
    if (const auto* slice = std::get_if<op::Slice>(&node.op))
      return {inner, strided_access(node.shape, steps), slice->first * steps[slice->axis], false, per_row};
    if (const auto* reverse = std::get_if<op::Reverse>(&node.op)) {
      const std::int64_t step = steps[reverse->axis];
      steps[reverse->axis] = -step;
      return {inner, strided_access(node.shape, steps), (node.shape[reverse->axis] - 1) * step, false, per_row};
    }
    return {inner, broadcast_access(shape, node.shape), 0, false, per_row};
  }

  /// Visits the operands of a member. An implicit node that must be in memory has itself as its only operand.
  template <class Visitor> void for_each_source(NodeId member, Visitor&& visit) const {
    const Node& node = graph_.node(member);
    if (std::holds_alternative<op::Constant>(node.op)) return visit(Source{member, {}, 0, true});
    if (is_window(node)) return visit(resolve_window(node));
    for (NodeId input : node.inputs) visit(resolve(input));
  }

  void scan(NodeId member) {
    for_each_source(member, [&](const Source& source) {
      const Node& node = graph_.node(source.node);
      if (source.number) {
        const Program::Immediate immediate{std::get<op::Constant>(node.op).value, lane_of(node.dtype)};
        if (std::ranges::find(immediates_, immediate) == immediates_.end()) immediates_.push_back(immediate);
      } else if (!(inside(source.node) && source.node != member) && find_input(source) == inputs_.size()) {
        inputs_.push_back({source.node, source.access, source.offset, source.per_row});
      }
    });
  }

  std::size_t find_input(const Source& source) const {
    std::size_t i = 0;
    for (; i < inputs_.size(); ++i)
      if (inputs_[i].source == source.node && inputs_[i].offset == source.offset &&
          inputs_[i].per_row == source.per_row && inputs_[i].access.kind == source.access.kind &&
          inputs_[i].access.extents == source.access.extents && inputs_[i].access.strides == source.access.strides)
        break;
    return i;
  }

  Register load(const Source& source, NodeId member) {
    const Node& node = graph_.node(source.node);
    if (source.number) {
      const Program::Immediate immediate{std::get<op::Constant>(node.op).value, lane_of(node.dtype)};
      const auto index = std::ranges::find(immediates_, immediate) - immediates_.begin();
      return {static_cast<std::uint16_t>(inputs_.size() + static_cast<std::size_t>(index)), immediate.lane};
    }
    if (inside(source.node) && source.node != member) {
      const Register value = values_.at(source.node);
      return per_row(source.node) && reads_elements(member) ? spread(source.node, value) : value;
    }
    return {static_cast<std::uint16_t>(find_input(source)), lane_of(node.dtype)};
  }

  void translate(NodeId member) {
    const Node& node = graph_.node(member);
    std::vector<Register> operands;
    for_each_source(member, [&](const Source& source) { operands.push_back(load(source, member)); });
    const Lane to = lane_of(node.dtype);
    if (const std::optional<Opcode> code = opcode_of(node.op)) {
      // A step has the lane of its last operand: a Select's first operand is a condition.
      emit(member, *code, operands.back().lane, to, operands);
    } else if (std::holds_alternative<op::Sum>(node.op)) {
      emit(member, instruction::sum_code, to, to, operands);
    } else if (std::holds_alternative<op::Max>(node.op)) {
      emit(member, instruction::max_code, to, to, operands);
    } else if (std::holds_alternative<op::Softmax>(node.op)) {
      translate_softmax(member, operands[0]);
    } else if (std::holds_alternative<op::Cast>(node.op)) {
      translate_cast(member, operands[0], graph_.node(node.inputs[0]).dtype, node.dtype);
    } else {
      values_[member] = operands[0];  // a window or a Constant is only loaded
    }
  }

  void translate_cast(NodeId member, Register x, DType from, DType to) {
    const Lane lane = lane_of(to);
    if (to == DType::boolean) return emit(member, instruction::truth_code, x.lane, lane, {x});
    values_[member] = x;
    if (x.lane != lane) emit(member, instruction::convert_code, x.lane, lane, {x});
    // Bytes and half precision are held in float lanes, so they are rounded to numbers of their type.
    if (to == DType::uint8 && size_of(from) > 1) emit(member, instruction::byte_code, lane, lane, {values_[member]});
    const bool holds_it = from == to || size_of(from) == 1;
    if (is_half(to) && !holds_it)
      emit(member, to == DType::float16 ? instruction::float16_code : instruction::bfloat16_code, lane, lane,
           {values_[member]});
  }

  /// exp(x - max) / sum(exp(x - max)), along each row.
  void translate_softmax(NodeId member, Register x) {
    const auto repeated = [&](Opcode code, Register of) {
      const Register number = step(code, x.lane, x.lane, {of}, true);
      return step(instruction::spread_code, x.lane, x.lane, {number}, false);
    };
    const Register shifted =
        step(opcode_of<op::Subtract>(), x.lane, x.lane, {x, repeated(instruction::max_code, x)}, false);
    const Register exponential = step(opcode_of<op::Exp>(), x.lane, x.lane, {shifted}, false);
    const Register total = repeated(instruction::sum_code, exponential);
    emit(member, opcode_of<op::Divide>(), x.lane, x.lane, {exponential, total});
  }

  /// Repeats a member's number per row along the row.
  Register spread(NodeId member, Register value) {
    const auto known = spread_.find(member);
    if (known != spread_.end()) return known->second;
    return spread_[member] = step(instruction::spread_code, value.lane, value.lane, {value}, false);
  }

  void emit(NodeId member, Opcode code, Lane lane, Lane to, const std::vector<Register>& operands) {
    values_[member] = step(code, lane, to, operands, per_row(member));
  }

  Register step(Opcode code, Lane lane, Lane to, const std::vector<Register>& operands, bool per_row) {
    Program::Step step{code, lane, to, next_, operands[0].reg, operands[0].reg, operands[0].reg, per_row};
    if (operands.size() > 1) step.b = operands[1].reg;
    if (operands.size() > 2) step.c = operands[2].reg;
    result_.program.steps.push_back(step);
    lanes_.resize(std::size_t{next_} + 1);
    lanes_[next_] = to;
    return {next_++, to};
  }

  /// Temporaries have distinct numbers so far. This gives each a register whose value is not read any more.
  void allocate_registers() {
    const auto fixed = static_cast<std::uint16_t>(inputs_.size() + immediates_.size());
    auto& steps = result_.program.steps;
    std::vector<int> last_use(next_, -1);
    for (int i = 0; i < static_cast<int>(steps.size()); ++i)
      for (const std::uint16_t reg : {steps[static_cast<std::size_t>(i)].a, steps[static_cast<std::size_t>(i)].b,
                                      steps[static_cast<std::size_t>(i)].c})
        last_use[reg] = i;
    for (const Program::Output& output : result_.program.outputs) last_use[output.reg] = static_cast<int>(steps.size());

    std::vector<std::uint16_t> renamed(next_), free;
    for (std::uint16_t i = 0; i < fixed; ++i) renamed[i] = i;
    std::uint16_t count = fixed;
    const auto take = [&] {
      if (free.empty()) return count++;
      const std::uint16_t reg = free.back();
      free.pop_back();
      return reg;
    };
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
      Program::Step& step = steps[static_cast<std::size_t>(i)];
      const std::uint16_t result = step.result;
      const std::array<std::uint16_t, 3> operands{step.a, step.b, step.c};
      step.a = renamed[step.a], step.b = renamed[step.b], step.c = renamed[step.c];
      // A result may use the register of an operand that is not read again, if its elements are as wide: a step reads
      // and writes element by element. A Select's condition is always in float lanes.
      std::vector<std::uint16_t> free_later;
      for (std::size_t j = 0; j < operands.size(); ++j) {
        const bool again = std::find(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(j),
                                     operands[j]) != operands.begin() + static_cast<std::ptrdiff_t>(j);
        if (operands[j] < fixed || last_use[operands[j]] != i || again) continue;
        const bool wide = lanes_[operands[j]] == Lane::float64;
        const bool in_place = wide == (step.to == Lane::float64) && step.code < instruction::sum_code;
        (in_place ? free : free_later).push_back(renamed[operands[j]]);
      }
      step.result = take();
      free.insert(free.end(), free_later.begin(), free_later.end());
      renamed[result] = step.result;
      if (last_use[result] < 0) free.push_back(step.result);
    }
    for (Program::Output& output : result_.program.outputs) output.reg = renamed[output.reg];
    result_.program.registers = count;
  }

  const Fused& fused_;
  const Graph& graph_;
  const Group& group_;
  std::vector<NodeId> members_;  // and the nodes that it recomputes for them
  VirtualProgram result_;
  std::vector<VirtualProgram::Input> inputs_;
  std::vector<Program::Immediate> immediates_;
  std::map<NodeId, Register> values_, spread_;
  std::vector<Lane> lanes_;  // of the temporaries, by number
  std::uint16_t next_ = 0;
};

}  // namespace

VirtualProgram build_program(const Fused& fused, const Group& group) { return Builder(fused, group).build(); }

Programs build_programs(const Fused& fused) {
  Programs programs;
  for (const Group& group : fused.grouping.groups)
    programs.push_back(group.members.empty() ? std::nullopt : std::optional(build_program(fused, group)));
  return programs;
}

}  // namespace etude
