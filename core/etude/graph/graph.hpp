#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "etude/base/dtype.hpp"
#include "etude/base/shape.hpp"
#include "etude/base/tensor.hpp"
#include "etude/graph/detail/node_id.hpp"
#include "etude/graph/variable.hpp"

namespace etude {

class Graph;
class Op;
struct Node;

/// A symbolic value in a Graph, with which a step computes while it is traced. It has a shape and a dtype; it has data
/// only when a plan runs. It may have a mask: a boolean Value of its leading axes, true for entries that count.
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
  /// Whether it is not empty.
  explicit operator bool() const { return graph_ != nullptr; }
  friend bool operator==(const Value&, const Value&) = default;

  /// Its mask, or an empty Value.
  Value mask() const;
  /// The same Value with this mask.
  Value with_mask(Value mask) const;

 private:
  Graph* graph_ = nullptr;
  NodeId id_ = -1;
};

/// The result of a layer or model: one Value, several, or a dict of them by name. It converts from one Value, and to a
/// Value if it has exactly one.
///
///     return {{"mean", mean}, {"spread", spread}};
class Outputs : public std::vector<Value> {
 public:
  using std::vector<Value>::vector;
  /// One Value.
  Outputs(Value value) : std::vector<Value>{value} {}
  /// Several Values.
  Outputs(std::vector<Value> values) : std::vector<Value>(std::move(values)) {}
  /// A dict: Values by name. They are in the order of their names. Those in lists and dicts inside are named by their
  /// paths: {{"boxes/0", a}, {"boxes/1", b}, {"score", c}}. Throws Error(value) for two of one name, and for paths that
  /// do not form a structure.
  Outputs(std::initializer_list<std::pair<const std::string, Value>> named);
  /// A dict, or nested lists and dicts: Values, and their names, which are in PathOrder; without names a list.
  Outputs(std::vector<Value> values, std::vector<std::string> names)
      : std::vector<Value>(std::move(values)), names_(std::move(names)) {}
  /// Throws Error(value) unless there is exactly one.
  operator Value() const;
  /// The names, in the order of the Values: keys of a dict, or paths in nested lists and dicts; empty for a list.
  const std::vector<std::string>& names() const { return names_; }
  /// The Value of that name. Throws Error(value) if there is none, listing the names.
  Value named(std::string_view name) const;

 private:
  std::vector<std::string> names_;
};

/// The shard of a batch that is traced: the number of replicas, the rows in this shard, and the rows of the batch.
struct Shard {
  /// The number of replicas that have a part of the batch.
  int replicas = 1;
  /// The rows of this part, and of the whole batch.
  std::int64_t rows = 0, batch = 0;

  /// The elements of a tensor per row of the batch; 0 if its first axis is not a multiple of the batch's rows.
  std::int64_t row_size(const Shape& shape) const;
  /// The elements for the whole batch, of a tensor that has this shape for the shard: as many for each row, or, if the
  /// tensor does not consist of rows, for each replica.
  std::int64_t whole_size(const Shape& shape) const;
};

/// The valid range of labels or indices in a step: integers 0 … count - 1. The host checks its own before the step
/// runs. If the step computes them, numbers out of range give NaN.
struct ExpectedRange {
  /// The node of the numbers.
  NodeId numbers;
  /// The number of valid numbers.
  std::int64_t count;
  std::string where;                         ///< the name of the layer or loss in errors
  const char *what, *of, *advice;            ///< "label", "classes", the advice
  std::optional<std::int64_t> ignored = {};  ///< a number that is valid too
  NodeId mask = -1;                          ///< where it is false, any number is valid
};

/// The graph that a trace appends to. Nodes are in topological order. A node that exists already is not appended again.
/// Variables are in SSA form: `assign` makes a Value current, and later reads return it.
class Graph {
 public:
  /// `multiplies_halves`: whether products of half precision remain such nodes, for a device that supports them.
  /// Otherwise they are computed in float32, too.
  explicit Graph(const Shard& shard = {}, bool multiplies_halves = false);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// The graph that is traced on this thread; throws Error(state) outside a trace.
  static Graph& current();
  /// Whether a graph is being traced on this thread.
  static bool tracing();

  /// The part of the batch that is traced.
  const Shard& shard() const { return shard_; }
  /// Whether products of half precision stay such nodes.
  bool multiplies_halves() const { return multiplies_halves_; }
  /// Whether a Value may differ between replicas: it depends on the batch, and is not all-reduced yet. False with one
  /// replica.
  bool varies(NodeId id) const { return shard_.replicas > 1 && varies_[static_cast<std::size_t>(id)]; }

  /// Infers shape and dtype, and appends. Within the trace of a loop's body, an op with an operand of the body is
  /// appended to the body. With operands in half precision the op is computed in float32, and its result
  /// is rounded. Only ops that move elements, and products on devices that support them, read half precision directly.
  Value append(Op op, std::span<const Value> inputs);
  Value append(Op op, std::initializer_list<Value> inputs);
  /// A Value that the host provides at each step.
  Value input(const Shape& shape, DType dtype);
  /// In half precision, the nearest representable number.
  Value constant(double value, DType dtype, const Shape& shape = {});

  /// A scalar that a trainer adds to the loss of this trace. `layer` added it, while the call of `entry` was traced;
  /// null if there is none.
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
  /// The losses that were passed to add_loss in this trace.
  std::vector<AddedLoss>& added_losses() { return added_losses_; }
  /// The layer whose call is traced; of nested calls, the outermost. Null outside of calls.
  const void* entry() const { return entry_; }
  /// Sets the result of entry().
  void set_entry(const void* layer) { entry_ = layer; }

  /// The host checks the range of its own numbers. The first range of a Value counts.
  void expect(ExpectedRange range) { expected_.push_back(std::move(range)); }
  /// The ranges that were passed to expect in this trace.
  const std::vector<ExpectedRange>& expected() const { return expected_; }

  /// The variable's current Value.
  Value read(const Variable& variable);
  /// The number of reads of the user's own variables so far; take_free_reads() removes and returns the variables after
  /// the first `first` of them.
  std::size_t free_reads() const { return free_reads_.size(); }
  /// Removes and returns those from number `first` on.
  std::vector<Variable> take_free_reads(std::size_t first);
  /// Values that vary between replicas are aggregated by the variable's Aggregation. Throws Error(state) if the
  /// aggregation is none.
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
  /// References to nodes stay valid while others are appended.
  const std::deque<Node>& nodes() const { return *nodes_; }
  /// The node of that number.
  const Node& node(NodeId id) const;
  /// The number of inputs.
  int input_count() const { return input_count_; }

  /// Makes this the body of a loop that is traced within `outer`. Ops in it accept Values of `outer`, too: `import`
  /// returns the Value of this graph that has the same data at every step. Variables are read by `outer`, and cannot be
  /// assigned. With null, the trace of the body ends.
  void set_outer(Graph* outer, std::function<Value(Value)> import = {});
  /// The Value of this graph for one of this or an outer graph. Throws Error(state) for an empty Value, and for one of
  /// another trace; `where` is its place in the error.
  Value local(Value value, std::string_view where);

  /// Called for each node when it is appended: `run_eagerly` computes it at once.
  void on_append(std::function<void(NodeId)> hook) { on_append_ = std::move(hook); }
  /// Sets the function that returns a node's data; without it nothing is computed yet, and inspection throws
  /// Error(state).
  void on_inspect(std::function<Tensor(NodeId)> hook) { on_inspect_ = std::move(hook); }
  /// The data of a node; throws Error(state) where nothing is computed yet.
  Tensor inspect(NodeId id) const;

 private:
  friend class Value;
  friend class Trace;
  bool keeps_halves(const Op& op) const;
  Value append_local(Op op, std::span<const Value> inputs);
  Value append_upcast(Op op, std::span<const Value> inputs);
  NodeId push(Node node);
  Value all_reduced(const Variable& variable, Value value);

  Shard shard_;
  bool multiplies_halves_;
  std::unique_ptr<std::deque<Node>> nodes_;
  std::vector<bool> varies_;  ///< by node, if there are several replicas
  std::vector<Assignment> assignments_;
  std::unordered_multimap<std::size_t, NodeId> known_;
  std::unordered_map<NodeId, NodeId> masks_;
  std::vector<AddedLoss> added_losses_;
  const void* entry_ = nullptr;
  std::vector<ExpectedRange> expected_;
  std::vector<Variable> free_reads_;
  Graph* outer_ = nullptr;
  std::function<Value(Value)> import_;
  std::function<void(NodeId)> on_append_;
  std::function<Tensor(NodeId)> on_inspect_;
  int input_count_ = 0;
};

/// While it exists, ops on this thread append to `graph`.
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

/// The vector-Jacobian products for `sources`: the sum over targets of d target / d source, times `d_targets`, which
/// have the targets' shapes. All are in one graph. The result is an empty Value if no target depends on the source.
std::vector<Value> pull_back(std::span<const Value> targets, std::span<const Value> d_targets,
                             std::span<const Value> sources);
/// d `target` / d each of `sources`, as Values appended to the graph; `target` is a scalar, or is summed. The result is
/// an empty Value if the target does not depend on the source. Gradients can be differentiated again. Throws
/// Error(value) for an empty target, Error(state) for sources that are empty or of another trace.
std::vector<Value> gradients(Value target, std::span<const Value> sources);
/// The same for variables: for each, with respect to the Value that the trace read.
std::vector<Value> gradients(Value target, const std::vector<Variable>& variables);

}  // namespace etude
