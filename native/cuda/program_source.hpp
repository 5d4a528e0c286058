#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "etude/execution/device.hpp"
#include "etude/execution/instruction.hpp"

/// Elementwise programs as source: the same steps that the processor runs tile by tile, as one kernel that keeps every
/// element in registers from its loads to its stores.
namespace etude::cuda {

/// What an input may be instead of numbers in memory: elements of a product. Of each, the sum over `depth` of a's
/// numbers times b's, the first of which lie where a and b are read, and all others so many elements apart.
struct ProductInput {
  std::size_t input;
  std::int64_t depth;
  instruction::Access a, b;
  std::int64_t along_a, along_b;
  /// Whether it is written to where the input would be.
  bool is_kept;
  /// Whether four numbers of a, and of b, can be read at once, everywhere, if both begin at a multiple of 16 bytes.
  bool by_fours;
};

/// What a launch of a program is given, which runs over several segments at the same time: of each how many elements,
/// or rows where it looks at rows; its first block of threads, and how many it has; whether it is wide; where operands
/// lie, first all inputs, then all outputs, then a and b of a ProductInput. A segment is wide if what its threads load
/// and store at once is aligned to that.
class ProgramArguments {
 public:
  /// For how many segments there is room.
  static std::size_t most_segments(const instruction::Program& program);
  void add(const instruction::Program& program, const instruction::Segment& segment, Addresses addresses,
           const ProductInput* product = nullptr);

  const void* data() const { return words_.data(); }
  std::size_t bytes() const { return words_.size() * sizeof(std::uint64_t); }
  std::int64_t blocks() const { return blocks_; }

 private:
  std::vector<std::uint64_t> words_;
  std::int32_t blocks_ = 0;
};

/// How many neighbouring elements a thread computes at a time: their loads are all under way before the first of them
/// is stored. As many as registers have room for; 1 for programs of rows and of products.
int width_of(const instruction::Program& program, const ProductInput* product = nullptr);

/// Whether one launch runs over both: they are read and written alike.
bool alike(const instruction::Segment& a, const instruction::Segment& b);

/// The text of `program`, an ENTRY of that name, for as many `segments` that are like this one. It stands behind what
/// the runtime defines (cuda/program_prelude.cuh).
std::string program_source(const instruction::Program& program, const instruction::Segment& segment,
                           std::size_t segments, const ProductInput* product = nullptr);

/// Threads of a block, whatever the program.
inline constexpr unsigned program_threads = 256;

}  // namespace etude::cuda
