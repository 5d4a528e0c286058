#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "etude/base/shape.hpp"
#include "etude/base/storage.hpp"
#include "etude/execution/instruction.hpp"

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

}  // namespace etude
