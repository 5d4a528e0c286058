#pragma once

#include <span>
#include <vector>

#include "etude/execution/device.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// Computes each node of a graph when it is appended, by a plan of that one op. It uses the same compiler as steps,
/// without fusion. It observes the graph from its construction on.
class Eager {
 public:
  Eager(Graph& graph, Device& device, std::vector<Tensor> inputs);
  ~Eager();
  Eager(const Eager&) = delete;
  Eager& operator=(const Eager&) = delete;

  const Tensor& value(NodeId id) const { return values_[static_cast<std::size_t>(id)]; }
  /// Writes the graph's assignments to the variables.
  void commit() const;

 private:
  void compute(NodeId id);

  Graph& graph_;
  Device& device_;
  std::vector<Tensor> inputs_, values_;
};

}  // namespace etude
