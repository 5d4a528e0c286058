#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/graph/graph.hpp"
#include "etude/training/export_options.hpp"

namespace etude::onnx {

/// The place of errors.
inline constexpr const char* place = "Model.export_model";

/// What a function computes, as a graph of any number of rows: two traces, whose sizes of the batch no other axis is
/// likely to have. An extent that is the same in both does not depend on the batch. A graph of a fixed number of rows
/// is one trace.
class Traces {
 public:
  using Function = std::function<Outputs(const std::vector<Value>&)>;
  /// Traces `function` for these inputs, whose first extents are -1 in all or in none. Throws Error(value) if it
  /// has other ops for another size of the batch, or assigns a variable.
  Traces(const std::vector<InputSpec>& inputs, const Function& function);

  /// The graph; extent() interprets its extents.
  const Graph& graph() const { return *first_; }
  const Outputs& outputs() const { return outputs_; }

  /// An extent of a node's result: a number, the number of rows times a factor, or neither.
  struct Extent {
    std::optional<std::int64_t> number, per_row;
  };
  /// The extent of an axis of a node of graph(), or of the body of one of its loops.
  Extent extent(const Graph& graph, NodeId id, std::size_t axis) const;

 private:
  /// A graph of another size of the batch, with its node for each one that both have.
  struct Other {
    const Graph* graph = nullptr;
    std::vector<NodeId> nodes;
  };
  std::unique_ptr<Graph> trace(const std::vector<InputSpec>& inputs, std::int64_t rows, const Function& function,
                               Outputs& outputs) const;
  void match(const Graph& first, const std::vector<NodeId>& firsts, const Graph& second,
             const std::vector<NodeId>& seconds);

  std::unique_ptr<Graph> first_, second_;
  Outputs outputs_;
  std::map<const Graph*, Other> others_;
};

}  // namespace etude::onnx
