#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "etude/execution/dataflow.hpp"
#include "etude/execution/device.hpp"

namespace etude {

/// For whom a graph is compiled: which of several replicas, and which of the batch's rows is its first.
struct Replica {
  int index = 0;
  std::int64_t first_row = 0;
};

/// What a graph is compiled to, before there is memory.
struct Lowered {
  struct Result {
    Operand operand;
    Shape shape;
  };
  std::vector<Instruction> instructions, log_instructions;
  std::vector<Result> results, logs;
  /// Where variables lie. A plan's spaces are its arena, its inputs, and these.
  std::vector<std::shared_ptr<Storage>> storages;
  std::size_t input_count = 0, arena_bytes = 0;
};

/// From a graph to instructions, by passes from value to value:
///
///     find_dataflow  Dataflow   what each node needs, and when it is computed
///     form_groups    Grouping   which nodes are computed together
///     recompute      Fused      what is computed again instead of stored
///     build_programs Programs   elementwise nodes as register programs
///     make_schedule  Schedule   the order of instructions
///     place          Placement  where everything lies
///     emit           Lowered    the instructions
///
/// A loop's body is compiled by the same passes.
Lowered compile(const Graph& graph, const Wanted& wanted, const Device& device, const Replica& replica = {});

}  // namespace etude
