#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "etude/base/detail/storage.hpp"
#include "etude/base/shape.hpp"
#include "etude/execution/instruction.hpp"

namespace etude {

/// How a plan divides its all-reduces.
struct Buckets {
  /// 0: all-reduces of one level are one instruction, which is complete when it has run. Otherwise they start in
  /// buckets of at least so many bytes, each as soon as its Values are computed and the bucket
  /// before it has started, and run beside other instructions.
  std::size_t bytes = 0;
  /// The buckets in the order of their starts. All-reduces are numbered in the order of the graph. Empty before the
  /// first replica's plan chose them: all replicas have the same.
  std::vector<std::vector<int>> all_reduces = {};
};

/// The replica for which a graph is compiled: its index, and the first row of its shard of the batch.
struct Replica {
  int index = 0;
  std::int64_t first_row = 0;
  Buckets buckets = {};
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
  Buckets buckets;
};

}  // namespace etude
