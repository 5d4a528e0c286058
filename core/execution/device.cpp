#include "etude/execution/device.hpp"

#include "etude/base/error.hpp"

namespace etude {

void Device::run(std::span<const Instruction> instructions, Addresses addresses, std::unique_ptr<Recording>&) {
  for (const Instruction& instruction : instructions)
    std::visit([&](const auto& one) { run(one, addresses); }, instruction);
}

void Device::run(const instruction::AllReduce&, Addresses) {
  fail(ErrorKind::internal, "Device",
       "replicas to join - expected the plan of one - a plan of several is run by a ReplicatedPlan.");
}

void Device::run(const instruction::Scan& scan, Addresses addresses) {
  std::unique_ptr<Recording> none;
  each_step(scan, 0, addresses, [&](Addresses entries) { Device::run(scan.body->instructions, entries, none); });
}

}  // namespace etude
