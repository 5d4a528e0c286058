#pragma once

#include "etude/execution/device.hpp"
#include "etude/kernels/cpu/kernels.hpp"

namespace etude::cpu {

/// Elements that a program processes at a time: several registers of this size stay in the first-level cache.
inline constexpr std::int64_t tile = 512;

/// Elements of a program's tile: whole rows, if it has row steps, and where possible whole periods of its repeated
/// inputs.
std::int64_t tile_of(const instruction::Program& program, const instruction::Segment& segment);

/// Runs a program over elements [begin, end) of a segment, tile by tile; with row steps, over whole rows. Its registers
/// belong to the calling thread and are kept, so that nothing is allocated from a thread's second run on.
void run_program(const Kernels& kernels, const instruction::Program& program, const instruction::Segment& segment,
                 std::int64_t begin, std::int64_t end, Addresses addresses);

}  // namespace etude::cpu
