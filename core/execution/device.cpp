#include "etude/execution/device.hpp"

#include "etude/base/error.hpp"

namespace etude {

void Device::run(const instruction::AllReduce&, Addresses) {
  fail(ErrorKind::internal, "Device",
       "replicas to join - expected the plan of one - a plan of several is run by a ReplicatedPlan.");
}

void Device::run(const instruction::Scan& scan, Addresses addresses) {
  each_step(scan, 0, addresses, [&](Addresses entries) {
    for (const Instruction& instruction : scan.body->instructions)
      std::visit([&](const auto& one) { run(one, entries); }, instruction);
  });
}

}  // namespace etude
