#include "cuda/programs.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "cuda/cuda.hpp"

namespace etude {

using cuda::ElementwiseLaunches;
using cuda::WantedProgram;
using instruction::Elementwise;
using instruction::Gemm;
using instruction::Segment;

void Cuda::prepare(std::span<Instruction> instructions) {
  std::vector<WantedProgram> wanted;
  for (Instruction& instruction : instructions) prepare(instruction, wanted);
  set_programs(wanted);
}

void Cuda::prepare(Instruction& instruction, std::vector<WantedProgram>& wanted) const {
  if (auto* elementwise = std::get_if<Elementwise>(&instruction)) {
    elementwise->prepared = launches_of(*elementwise, wanted);
  } else if (auto* gemm = std::get_if<Gemm>(&instruction); gemm && by_program(*gemm)) {
    gemm->prepared = launch_of(*gemm, wanted);
  } else if (auto* scan = std::get_if<instruction::Scan>(&instruction)) {
    for (Instruction& inner : scan->body->instructions) prepare(inner, wanted);
  } else {
    std::visit(
        [&](auto& one) {
          if constexpr (requires { one.epilogue; })
            if (one.epilogue) one.epilogue->prepared = launches_of(*one.epilogue, wanted);
        },
        instruction);
  }
}

std::shared_ptr<ElementwiseLaunches> Cuda::launches_of(const Elementwise& instruction,
                                                       std::vector<WantedProgram>& wanted) const {
  auto result = std::make_shared<ElementwiseLaunches>();
  const std::size_t most = cuda::ProgramArguments::most_segments(instruction.program);
  std::vector<std::string> sources;
  for (std::span<const Segment> left = instruction.segments; !left.empty();) {
    std::size_t count = 1;
    while (count < std::min(most, left.size()) && cuda::alike(left[count], left[0])) ++count;
    const bool is_empty = std::ranges::all_of(left.first(count), [](const Segment& one) { return one.size == 0; });
    sources.push_back(is_empty ? "" : cuda::program_source(instruction.program, left[0], count));
    result->launches.push_back({count});
    left = left.subspan(count);
  }
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (!sources[i].empty()) wanted.push_back({std::move(sources[i]), &result->launches[i].program});
  return result;
}

/// No thread compiles while it records, so a recording thread never waits here for a compiling one.
void Cuda::set_programs(std::span<const WantedProgram> wanted) {
  const auto set_known = [&] {
    const std::lock_guard lock(programs_mutex_);
    std::set<std::string> missing;
    for (const auto& [source, program] : wanted) {
      if (const auto found = programs_.find(source); found != programs_.end())
        *program = found->second.get();
      else
        missing.insert(source);
    }
    return std::vector(missing.begin(), missing.end());
  };
  const std::vector<std::string> missing = set_known();
  if (missing.empty()) return;
  auto compiled = runtime_->compile(missing);
  {
    const std::lock_guard lock(programs_mutex_);
    for (std::size_t i = 0; i < missing.size(); ++i) programs_.try_emplace(missing[i], std::move(compiled[i]));
  }
  set_known();
}

void Cuda::compute(const Elementwise& instruction, Addresses addresses) {
  std::shared_ptr<const instruction::Prepared> prepared = instruction.prepared;
  if (!prepared) {  // the instruction belongs to no plan
    std::vector<WantedProgram> wanted;
    prepared = launches_of(instruction, wanted);
    set_programs(wanted);
  }
  std::span<const Segment> left = instruction.segments;
  for (const auto& [count, program] : static_cast<const ElementwiseLaunches&>(*prepared).launches) {
    cuda::ProgramArguments arguments;
    for (const Segment& segment : left.first(count)) arguments.add(instruction.program, segment, addresses);
    if (arguments.blocks() > 0)
      runtime_->launch(*program, arguments.blocks(), cuda::program_threads, arguments.data(), arguments.bytes());
    left = left.subspan(count);
  }
}

}  // namespace etude
