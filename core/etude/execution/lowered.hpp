#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "etude/base/shape.hpp"
#include "etude/base/storage.hpp"
#include "etude/execution/instruction.hpp"

namespace etude {

/// The replica for which a graph is compiled: its index, the number of replicas, and the first row of its shard of the
/// batch.
struct Replica {
  int index = 0;
  std::int64_t first_row = 0;
};

/// The result of compiling a graph, without memory.
struct Lowered {
  struct Result {
    Operand operand;
    Shape shape;
  };
  std::vector<Instruction> instructions, log_instructions;
  std::vector<Result> results, logs;
  /// The storages of variables. A plan's spaces are its arena, its inputs, and these.
  std::vector<std::shared_ptr<Storage>> storages;
  std::size_t input_count = 0, arena_bytes = 0;
};

}  // namespace etude
