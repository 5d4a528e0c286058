#pragma once

#include <span>
#include <vector>

#include "etude/execution/device.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// Computes each node of a graph as it is appended, by the plan of that one op: no second engine, only no fusion. It
/// watches the graph from its construction on.
class Eager {
 public:
  Eager(Graph& graph, Device& device, std::vector<Tensor> inputs);
  ~Eager();
  Eager(const Eager&) = delete;
  Eager& operator=(const Eager&) = delete;

  const Tensor& value(NodeId id) const { return values_[static_cast<std::size_t>(id)]; }
  /// Gives the variables what the graph assigned to them.
  void commit() const;

 private:
  void compute(NodeId id);

  Graph& graph_;
  Device& device_;
  std::vector<Tensor> inputs_, values_;
};

}  // namespace etude
