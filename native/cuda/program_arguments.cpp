#include "cuda/program_arguments.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <span>

#include "cuda/cuda.hpp"
#include "cuda/kernel.hpp"
#include "cuda/launch.hpp"
#include "etude/base/error.hpp"

namespace etude::cuda {

using instruction::Access;
using instruction::Lane;
using instruction::Program;
using instruction::Segment;

namespace {

/// The arguments of a kernel, in words of 64 bits: the most that are possible, and the words of a segment.
constexpr std::size_t most_words = 4096 / sizeof(std::uint64_t);
std::size_t words_of_segment(const Program& program) { return 2 + operands(program); }

/// The blocks of threads of a segment, if each thread processes `width` elements at a time.
std::int16_t blocks_of(const Program& program, const Segment& segment, int width) {
  constexpr std::int64_t most = 2048;  // beyond it, each block processes more elements
  const std::int64_t threads = program.row > 0 ? segment.size / program.row * warp : segment.size / width;
  return static_cast<std::int16_t>(std::min(blocks_for(threads, program_threads), most));
}

/// The most 32-bit numbers of an element that a program holds at the same time.
std::int64_t live_numbers(const Program& program) {
  std::vector<std::int64_t> numbers(program.registers, 1);
  const auto hold = [&](std::size_t reg, Lane lane) {
    if (lane == Lane::float64) numbers[reg] = 2;
  };
  for (std::size_t i = 0; i < program.inputs.size(); ++i) hold(i, program.inputs[i].lane);
  for (const Program::Step& step : program.steps) hold(step.result, step.to);
  const auto immediates = numbers.begin() + std::ssize(program.inputs);
  numbers.erase(immediates, immediates + std::ssize(program.immediates));
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
}

bool is_aligned(Addresses addresses, const Operand& operand, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(at<std::byte>(addresses, operand)) % std::min<std::size_t>(bytes, 16) == 0;
}

/// Whether the operands of a segment are aligned for such accesses.
bool is_wide(const Segment& segment, int width, Addresses addresses, const ProductInput* product) {
  const auto aligned = [&](const Access& access) {
    const std::size_t bytes = static_cast<std::size_t>(width) * size_of(access.operand.dtype);
    return neighbours(access, width) != Neighbours::together || is_aligned(addresses, access.operand, bytes);
  };
  if (product)
    return product->by_fours && is_aligned(addresses, product->a.operand, 16) &&
           is_aligned(addresses, product->b.operand, 16);
  return width > 1 && segment.size >= width && std::ranges::all_of(segment.inputs, aligned) &&
         std::ranges::all_of(segment.outputs, aligned);
}

}  // namespace

std::size_t operands(const Program& program) { return program.inputs.size() + program.outputs.size(); }

Neighbours neighbours(const Access& access, int width) {
  if (access.kind == Access::Kind::contiguous) return Neighbours::together;
  if (access.kind == Access::Kind::scalar) return Neighbours::same;
  const auto in_step = [&](std::int64_t number) { return number % width == 0; };
  const std::span<const std::int64_t> strides(access.strides.begin(), access.strides.end());
  if (strides.empty() || !in_step(access.extents[-1])) return Neighbours::apart;
  if (strides.back() == 0) return Neighbours::same;
  const bool together = strides.back() == 1 && std::ranges::all_of(strides.first(strides.size() - 1), in_step);
  return together ? Neighbours::together : Neighbours::apart;
}

int width_of(const Program& program, const ProductInput* product) {
  if (program.row > 0 || product) return 1;
  const std::int64_t numbers = live_numbers(program);
  return numbers <= 24 ? 4 : numbers <= 48 ? 2 : 1;
}

std::size_t ProgramArguments::most_segments(const Program& program) {
  return std::max<std::size_t>(most_words / words_of_segment(program), 1);
}

void ProgramArguments::add(const Program& program, const Segment& segment, Addresses addresses,
                           const ProductInput* product) {
  const int width = width_of(program, product);
  const bool wide = is_wide(segment, width, addresses, product);
  const std::int16_t blocks = blocks_of(program, segment, wide ? width : 1);
  struct Start {
    std::int32_t first;
    std::int16_t blocks, wide;
  };
  words_.push_back(static_cast<std::uint64_t>(program.row > 0 ? segment.size / program.row : segment.size));
  words_.push_back(std::bit_cast<std::uint64_t>(Start{blocks_, blocks, wide}));
  const auto add = [&](const Access& access) {
    words_.push_back(reinterpret_cast<std::uint64_t>(at<std::byte>(addresses, access.operand)));
  };
  for (const auto* accesses : {&segment.inputs, &segment.outputs}) std::ranges::for_each(*accesses, add);
  if (product) add(product->a), add(product->b);
  blocks_ += blocks;
  check(words_.size() <= most_words, ErrorKind::internal, "Cuda", "a program of ", operands(program),
        " operands - expected at most ", most_words - 4, " - this is a defect of the library.");
}

bool alike(const Segment& a, const Segment& b) {
  const auto same = [&](const Access& x, const Access& y) {
    return x.kind == y.kind && x.operand.dtype == y.operand.dtype &&
           (x.kind != Access::Kind::strided || (a.size == b.size && x.extents == y.extents && x.strides == y.strides));
  };
  return std::ranges::equal(a.inputs, b.inputs, same) && std::ranges::equal(a.outputs, b.outputs, same);
}

}  // namespace etude::cuda
