#include "etude/graph/graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "etude/base/detail/alternatives.hpp"
#include "etude/base/error.hpp"
#include "etude/base/nesting.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

thread_local Graph* current_graph = nullptr;

/// Whether a node's value varies between replicas, if its operands do or do not.
bool makes_differences(const Op& op, bool operands_vary) {
  if (std::holds_alternative<op::AllReduce>(op)) return false;
  const auto* drawn = std::get_if<op::Uniform>(&op);
  return operands_vary || std::holds_alternative<op::Input>(op) || (drawn && drawn->row_size > 0);
}

}  // namespace

std::string_view name_of(const Op& op) {
  static constexpr auto names = for_alternatives<OpVariant>([]<class O>() { return struct_name<O>(); });
  return names[op.index()];
}

op::Traits traits_of(const Op& op) {
  static constexpr auto traits = for_alternatives<OpVariant>([]<class O>() { return traits_of<O>(); });
  return traits[op.index()];
}

const Shape& Value::shape() const { return graph_->node(id_).shape; }
DType Value::dtype() const { return graph_->node(id_).dtype; }
const Op& Value::op() const { return graph_->node(id_).op; }

std::int64_t Shard::row_size(const Shape& shape) const {
  return shape.rank() > 0 && rows > 0 && shape[0] % rows == 0 ? shape.size() / rows : 0;
}

std::int64_t Shard::whole_size(const Shape& shape) const {
  const std::int64_t row = row_size(shape);
  return replicas == 1 ? shape.size() : row ? row * batch : shape.size() * replicas;
}

Value Value::mask() const {
  const auto found = graph_->masks_.find(id_);
  return found == graph_->masks_.end() ? Value{} : Value(*graph_, found->second);
}

Value Value::with_mask(Value mask) const {
  if (mask) graph_->masks_[id_] = graph_->local(mask, "mask").id();
  return *this;
}

Outputs::Outputs(std::initializer_list<std::pair<const std::string, Value>> named) {
  for (const auto& [name, value] : std::map<std::string, Value, PathOrder>(named)) {
    names_.push_back(name);
    push_back(value);
  }
  check(size() == named.size(), ErrorKind::value, "Outputs", named.size(), " Values by ", size(),
        " names - expected a name for each - give them different names.");
  check_paths(names_, "Outputs");
}

Value Outputs::named(std::string_view name) const {
  std::string known;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return (*this)[i];
    known += (i ? ", " : "") + names_[i];
  }
  fail(ErrorKind::value, "Outputs", '"', name, "\" - expected one of: ", known,
       " - outputs have names if call() returns them by name.");
}

Outputs::operator Value() const {
  check(size() == 1, ErrorKind::value, "Outputs", size(),
        " Values where one is used - expected exactly one - take one of them by its index.");
  return front();
}

Graph& Graph::current() {
  check(current_graph != nullptr, ErrorKind::state, "Graph",
        "an op was called on Values outside a trace - expected a step "
        "(train_step, call, a loss) to be running - call it inside a step, or use evaluate() on Tensors.");
  return *current_graph;
}

bool Graph::tracing() { return current_graph != nullptr; }

void Graph::add_loss(Value loss, const void* layer) {
  check(!outer_, ErrorKind::state, "add_loss",
        "a loss within the step of a loop - expected losses of the loop's results - add it after the loop.");
  check(loss && &loss.graph() == this, ErrorKind::state, "add_loss",
        "a Value of another trace, or an empty one - expected one of the step being traced - add it in call().");
  added_losses_.push_back({loss, layer, entry_});
}

// Defined here, so that Op's destructor and copies are compiled once.
Graph::Graph(const Shard& shard, bool multiplies_halves)
    : shard_(shard), multiplies_halves_(multiplies_halves), nodes_(std::make_unique<std::deque<Node>>()) {}
Graph::~Graph() = default;

const Node& Graph::node(NodeId id) const { return (*nodes_)[static_cast<std::size_t>(id)]; }

/// Operands of other graphs: those of the loops around a body.
Value Graph::append_local(Op op, std::span<const Value> inputs) {
  if (current_graph && current_graph != this && current_graph->outer_)
    return current_graph->append(std::move(op), inputs);
  std::vector<Value> own;
  for (const Value& input : inputs) own.push_back(local(input, name_of(op)));
  return append(std::move(op), own);
}

void Graph::set_outer(Graph* outer, std::function<Value(Value)> import) {
  outer_ = outer;
  import_ = std::move(import);
}

Value Graph::local(Value value, std::string_view where) {
  if (value && &value.graph() == this) return value;
  check(value && outer_, ErrorKind::state, where,
        "a Value of another trace, or an empty one - expected Values of the step being traced - do not keep Values "
        "from one step to the next.");
  const Value outside = outer_->local(value, where);
  if (const auto* number = std::get_if<op::Constant>(&outside.op()))
    return constant(number->value, outside.dtype(), outside.shape());
  return import_(outside);
}

NodeId Graph::push(Node node) {
  const auto id = static_cast<NodeId>(nodes_->size());
  if (shard_.replicas > 1)
    varies_.push_back(
        makes_differences(node.op, std::ranges::any_of(node.inputs, [this](NodeId input) { return varies(input); })));
  nodes_->push_back(std::move(node));
  if (on_append_) on_append_(id);
  return id;
}

Value Graph::input(const Shape& shape, DType dtype) { return append(op::Input{input_count_++, shape, dtype}, {}); }

Value Graph::constant(double value, DType dtype, const Shape& shape) {
  if (is_half(dtype))
    value = dtype == DType::float16 ? static_cast<double>(Float16(value)) : static_cast<double>(BFloat16(value));
  return append(op::Constant{value, shape, dtype}, {});
}

Value Graph::read(const Variable& variable) {
  if (!variable.managed()) free_reads_.push_back(variable);
  for (const Assignment& assignment : assignments_)
    if (assignment.variable == variable) return {*this, assignment.current};
  return outer_ ? local(outer_->read(variable), "Variable") : append(op::Read{variable}, {});
}

std::vector<Variable> Graph::take_free_reads(std::size_t first) {
  std::vector<Variable> taken(free_reads_.begin() + static_cast<std::ptrdiff_t>(first), free_reads_.end());
  free_reads_.resize(first);
  return taken;
}

void Graph::assign(const Variable& variable, Value value) {
  check(!outer_, ErrorKind::state, "Variable \"" + variable.name() + '"',
        "assigned within the step of a loop, as random draws do - expected no state except the loop's carried Values - "
        "draw and assign before or after the loop.");
  check(value.shape() == variable.shape() && value.dtype() == variable.dtype(), ErrorKind::shape,
        "Variable \"" + variable.name() + '"', "assigned a Value of shape ", value.shape(), ", ", value.dtype(),
        " - expected ", variable.shape(), ", ", variable.dtype(), " - reshape or cast it.");
  if (shard_.replicas > 1) value = all_reduced(variable, value);
  read(variable);  // so that a plan has the variable even if no op reads it
  for (Assignment& assignment : assignments_)
    if (assignment.variable == variable) {
      assignment.current = value.id();
      return;
    }
  assignments_.push_back({variable, value.id()});
}

/// The Value that all replicas assign, aggregated from the Value of each.
Value Graph::all_reduced(const Variable& variable, Value value) {
  const auto sum = [this](Value part) { return append(op::AllReduce{}, {part}); };
  const Value before = read(variable);
  if (variable.aggregation() == Aggregation::sum) {
    const std::vector<NodeId>& terms = node(value.id()).inputs;
    const bool adds = std::holds_alternative<op::Add>(value.op()) && terms.front() == before.id();
    const Value more = adds ? Value(*this, terms.back()) : append(op::Subtract{}, {value, before});
    return append(op::Add{}, {before, sum(more)});
  }
  if (!varies(value.id())) return value;
  check(variable.aggregation() == Aggregation::mean, ErrorKind::state, "Variable \"" + variable.name() + '"',
        "assigned a Value that differs between ", shard_.replicas,
        " replicas - expected the same for all - all-reduce it by ops::all_reduce, or make the variable with an "
        "Aggregation.");
  Value part = constant(1.0 / shard_.replicas, value.dtype());
  if (value.shape().rank() > 0) part = append(op::Broadcast{value.shape()}, {part});
  return append(op::Multiply{}, {sum(value), part});
}

Tensor Graph::inspect(NodeId id) const {
  check(static_cast<bool>(on_inspect_), ErrorKind::state, "Value",
        "its data was asked for during a trace - a traced Value has none until the plan runs - "
        "call compile({.run_eagerly = true}) to look at Values.");
  return on_inspect_(id);
}

Trace::Trace(Graph& graph) : outer_(std::exchange(current_graph, &graph)) {}
Trace::~Trace() { current_graph = outer_; }

}  // namespace etude
