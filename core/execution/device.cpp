#include "etude/execution/device.hpp"

namespace etude {
namespace {

std::byte* address_in(const instruction::Scan::Space& space, std::int64_t executed, std::int64_t step,
                      Addresses addresses) {
  const std::int64_t entry = space.turns ? (executed + space.shift) % 2 : step + space.shift;
  return addresses[static_cast<std::size_t>(space.operand.space)] + space.operand.offset + entry * space.stride;
}

}  // namespace

void Device::run(const instruction::Scan& scan, Addresses addresses) {
  for (std::int64_t executed = 0; executed < scan.steps; ++executed) {
    const std::int64_t step = scan.reverse ? scan.steps - 1 - executed : executed;
    for (std::size_t i = 0; i < scan.spaces.size(); ++i)
      scan.body->addresses[i] = address_in(scan.spaces[i], executed, step, addresses);
    for (const Instruction& instruction : scan.body->instructions)
      std::visit([&](const auto& one) { run(one, scan.body->addresses); }, instruction);
  }
}

}  // namespace etude
