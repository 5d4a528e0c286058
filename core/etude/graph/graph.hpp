#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "etude/graph/op.hpp"

namespace etude {

class Graph;
/// The number of a node in its graph.
using NodeId = std::int32_t;

/// A symbol in a Graph: what a step computes with while it is traced. It has a shape and a dtype, and data only when a
/// plan runs. It may carry a mask: a boolean Value of its leading axes that says which entries count.
class Value {
 public:
  Value() = default;
  /// The result of a node.
  Value(Graph& graph, NodeId id) : graph_(&graph), id_(id) {}

  /// Its extents.
  const Shape& shape() const;
  /// Its element type.
  DType dtype() const;
  /// The op that makes it.
  const Op& op() const;
  /// The number of its node.
  NodeId id() const { return id_; }
  /// The graph that it belongs to.
  Graph& graph() const { return *graph_; }
  /// Whether it is a Value at all.
  explicit operator bool() const { return graph_ != nullptr; }
  friend bool operator==(const Value&, const Value&) = default;

  /// The mask it carries, or an empty Value.
  Value mask() const;
  /// The same Value, carrying `mask`.
  Value with_mask(Value mask) const;

 private:
  Graph* graph_ = nullptr;
  NodeId id_ = -1;
};

/// What a layer or model makes: one Value, or several. It is made of one, and converts to one where it has one.
class Outputs : public std::vector<Value> {
 public:
  using std::vector<Value>::vector;
  /// One Value.
  Outputs(Value value) : std::vector<Value>{value} {}
  /// Several Values.
  Outputs(std::vector<Value> values) : std::vector<Value>(std::move(values)) {}
  /// Throws Error(value) unless there is exactly one.
  operator Value() const;
};

/// Which part of a batch a trace is about: how many replicas have one, how many rows are in this one, and in all.
struct Share {
  /// How many replicas have a part of the batch.
  int replicas = 1;
  /// The rows of this part, and of the whole batch.
  std::int64_t rows = 0, batch = 0;

  /// How many elements of a tensor belong to each row; 0 where its first axis is not the batch's, nor begins with it.
  std::int64_t row_size(const Shape& shape) const;
  /// How many elements the whole batch has, where a share of it has a tensor of this shape: as many for each row, or,
  /// where it is not made of rows, for each replica.
  std::int64_t whole_size(const Shape& shape) const;
};

/// An op in a graph, with its operands.
struct Node {
  /// What is computed.
  Op op;
  /// The nodes of its operands.
  std::vector<NodeId> inputs;
  /// The extents of its result.
  Shape shape;
  /// The element type of its result.
  DType dtype;
};

/// What a step expects of labels or indices: whole numbers 0 … count - 1. Those that the host gives are checked there,
/// before the step runs; of those that the step computes, others give NaN.
struct ExpectedRange {
  /// The node of the numbers.
  NodeId numbers;
  /// How many numbers there are to choose from.
  std::int64_t count;
  std::string where;                         ///< how errors name the layer or loss
  const char *what, *of, *advice;            ///< "label", "classes", what to do
  std::optional<std::int64_t> ignored = {};  ///< a number that may stand there as well
  NodeId mask = -1;                          ///< where it is false, any number may stand
};

/// What a trace appends to. Nodes stand in an order in which they can be computed; a node that is there already is not
/// appended again. Variables are SSA: `assign` makes a Value current, and later reads see it.
class Graph {
 public:
  /// `multiplies_halves`: whether products of half precision stay such nodes, for a device that can; otherwise float32
  /// computes them, too.
  explicit Graph(const Share& share = {}, bool multiplies_halves = false);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// The graph being traced on this thread; throws Error(state) outside a trace.
  static Graph& current();
  /// Whether a graph is being traced on this thread.
  static bool tracing();

  /// Which part of the batch the trace is about.
  const Share& share() const { return share_; }
  /// Whether products of half precision stay such nodes.
  bool multiplies_halves() const { return multiplies_halves_; }
  /// Whether a Value may differ from replica to replica: it is made of the batch, and not joined yet. False where there
  /// is one.
  bool varies(NodeId id) const { return share_.replicas > 1 && varies_[static_cast<std::size_t>(id)]; }

  /// Infers shape and dtype, and appends. Of operands in half precision the op is computed in float32, and its result
  /// rounded; only what moves elements, and products where the device has such, take them as they are.
  Value append(Op op, std::span<const Value> inputs);
  Value append(Op op, std::initializer_list<Value> inputs);
  /// What the host gives at each step.
  Value input(const Shape& shape, DType dtype);
  /// Of half precision, the nearest number there is.
  Value constant(double value, DType dtype, const Shape& shape = {});

  /// A scalar that a trainer adds to the loss of this trace. `layer` added it, while the call of `entry` was traced;
  /// null where there is none.
  struct AddedLoss {
    /// The scalar.
    Value value;
    /// The layer that added it; null where there is none.
    const void* layer;
    /// The outermost call in which it was added; null where there is none.
    const void* entry;
  };
  /// Throws Error(state) for a Value of another trace.
  void add_loss(Value loss, const void* layer = nullptr);
  /// What add_loss was given in this trace.
  std::vector<AddedLoss>& added_losses() { return added_losses_; }
  /// The layer whose call is being traced, of nested calls the outermost one; null outside of calls.
  const void* entry() const { return entry_; }
  /// Sets what entry() gives.
  void set_entry(const void* layer) { entry_ = layer; }

  /// To be checked wherever the host gives the numbers. What was expected of a Value first counts.
  void expect(ExpectedRange range) { expected_.push_back(std::move(range)); }
  /// What expect was given in this trace.
  const std::vector<ExpectedRange>& expected() const { return expected_; }

  /// The variable's current Value.
  Value read(const Variable& variable);
  /// The user's own variables that were read since there were `first` of them; they are forgotten.
  std::size_t free_reads() const { return free_reads_.size(); }
  /// Gives and forgets those from number `first` on.
  std::vector<Variable> take_free_reads(std::size_t first);
  /// What differs between replicas is joined as the variable's Aggregation says; throws Error(state) where it says that
  /// nothing may.
  void assign(const Variable& variable, Value value);

  /// A variable and the node that holds its next value.
  struct Assignment {
    /// The variable.
    Variable variable;
    /// The node.
    NodeId current;
  };
  /// The variables that the trace assigns.
  const std::vector<Assignment>& assignments() const { return assignments_; }
  /// They stay where they are: references to a node hold while others are appended.
  const std::deque<Node>& nodes() const { return nodes_; }
  /// The node of that number.
  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  /// The number of inputs.
  int input_count() const { return input_count_; }

  /// Called for each node as it is appended: how `run_eagerly` computes it at once.
  void on_append(std::function<void(NodeId)> hook) { on_append_ = std::move(hook); }
  /// What the hook's owner can say of a node's data; throws Error(state) where nothing is computed yet.
  void on_inspect(std::function<Tensor(NodeId)> hook) { on_inspect_ = std::move(hook); }
  /// The data of a node; throws Error(state) where nothing is computed yet.
  Tensor inspect(NodeId id) const;

 private:
  friend class Value;
  friend class Trace;
  bool keeps_halves(const Op& op) const;
  Value append_widened(Op op, std::span<const Value> inputs);
  NodeId push(Node node);
  Value joined(const Variable& variable, Value value);

  Share share_;
  bool multiplies_halves_;
  std::deque<Node> nodes_;
  std::vector<bool> varies_;  ///< by node, where there are several replicas
  std::vector<Assignment> assignments_;
  std::unordered_multimap<std::size_t, NodeId> known_;
  std::unordered_map<NodeId, NodeId> masks_;
  std::vector<AddedLoss> added_losses_;
  const void* entry_ = nullptr;
  std::vector<ExpectedRange> expected_;
  std::vector<Variable> free_reads_;
  std::function<void(NodeId)> on_append_;
  std::function<Tensor(NodeId)> on_inspect_;
  int input_count_ = 0;
};

/// Makes `graph` the one that ops append to, on this thread, while it lives.
class Trace {
 public:
  /// Makes `graph` the current one.
  explicit Trace(Graph& graph);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

 private:
  Graph* outer_;
};

/// What each of `sources` passes on: the sum over targets of d target / d source, times `d_targets`, which have the
/// targets' shapes. All are of one graph; an empty Value where no target depends on the source.
std::vector<Value> pull_back(std::span<const Value> targets, std::span<const Value> d_targets,
                             std::span<const Value> sources);
/// d `target` / d each of `sources`, as Values appended to the graph; `target` is a scalar, or is summed. An empty
/// Value where target does not depend on the source. What it appends can be differentiated again.
std::vector<Value> gradients(Value target, std::span<const Value> sources);
/// The same for variables: for each the Value that it had where the trace read it.
std::vector<Value> gradients(Value target, const std::vector<Variable>& variables);

}  // namespace etude
