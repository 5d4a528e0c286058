#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "etude/execution/device.hpp"
#include "etude/execution/instruction.hpp"

/// The launches of elementwise programs: their arguments, and how threads access operands.
namespace etude::cuda {

/// The threads of a block, for all programs.
inline constexpr unsigned program_threads = 256;

/// An input whose elements are those of a product instead of numbers in memory. Each element is the sum over `depth` of
/// a's numbers times b's. The accesses give the first numbers of a and b; the others are `along_a` and `along_b`
/// elements apart.
struct ProductInput {
  std::size_t input;
  std::int64_t depth;
  instruction::Access a, b;
  std::int64_t along_a, along_b;
  /// Whether it is also stored at the input's place.
  bool is_kept;
  /// Whether four numbers of a, and of b, can be read at once, everywhere, if both begin at a multiple of 16 bytes.
  bool by_fours;
};

/// The arguments of a program's launch, which runs over several segments at the same time. For each segment: the number
/// of elements, or of rows if the program works on rows; its first block of threads, and the number of its blocks;
/// whether it is wide; the addresses of operands, first all inputs, then all outputs, then a and b of a ProductInput. A
/// segment is wide if all accesses of its threads are aligned.
class ProgramArguments {
 public:
  /// The most segments in the arguments of one launch.
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

/// The number of neighbouring elements that a thread computes at a time. All their loads start before the first of them
/// is stored. It is as large as registers permit, and 1 for programs of rows and of products.
int width_of(const instruction::Program& program, const ProductInput* product = nullptr);

/// Whether one launch can run over both: their accesses are alike.
bool alike(const instruction::Segment& a, const instruction::Segment& b);

/// The operands of a program: its inputs and outputs.
std::size_t operands(const instruction::Program& program);

/// The access to `width` neighbouring elements, the first of which has a number that is a multiple of it.
enum class Neighbours { together, same, apart };
Neighbours neighbours(const instruction::Access& access, int width);

}  // namespace etude::cuda
