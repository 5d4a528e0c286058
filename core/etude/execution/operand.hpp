#pragma once

#include <cstdint>
#include <vector>

#include "etude/base/dtype.hpp"

namespace etude {

/// A place in a plan's memory: `offset` bytes after the address of `space`. The plan has a table of addresses, one per
/// space: the arena, each input of the batch, each storage of variables.
struct Operand {
  std::int32_t space = -1;
  std::int64_t offset = 0;
  DType dtype = DType::float32;
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// A range of memory that an instruction reads or writes.
struct MemoryRange {
  std::int32_t space;
  std::int64_t first, bytes;
  bool is_written;
  /// Whether it counts in the instruction's cost. Operands that are read through strides, such as a bias or a slice,
  /// count where they were written.
  bool counts = true;
};

/// The ranges of an instruction. Operands that are not used (space -1) have no bytes.
class MemoryRanges {
 public:
  void read(const Operand& operand, std::int64_t elements) { add(operand, elements, false); }
  void written(const Operand& operand, std::int64_t elements) { add(operand, elements, true); }
  void add(const MemoryRange& range) { all_.push_back(range); }
  void last_counts(bool counts) { all_.back().counts = counts; }
  std::vector<MemoryRange>& all() { return all_; }

 private:
  void add(const Operand& operand, std::int64_t elements, bool is_written);
  std::vector<MemoryRange> all_;
};

}  // namespace etude
