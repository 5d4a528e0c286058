#pragma once

#include "etude/execution/device.hpp"
#include "etude/kernels/cpu/kernels.hpp"

namespace etude::cpu {

/// Elements that a program works on at a time: some registers of that many stay in the first-level cache.
inline constexpr std::int64_t tile = 512;

/// Elements of a program's tile: whole rows of them, if it looks at rows, and where possible whole repetitions of what
/// it reads again and again.
std::int64_t tile_of(const instruction::Program& program, const instruction::Segment& segment);

/// Runs a program over elements [begin, end) of a segment, tile by tile; where it looks at rows, whole ones. Its
/// registers belong to the calling thread and are kept, so that from a thread's second run on nothing is allocated.
void run_program(const Kernels& kernels, const instruction::Program& program, const instruction::Segment& segment,
                 std::int64_t begin, std::int64_t end, Addresses addresses);

}  // namespace etude::cpu
