#include "etude/execution/device.hpp"

namespace etude {

void Device::run(const instruction::Scan& scan, Addresses addresses) {
  each_step(scan, 0, addresses, [&](Addresses entries) {
    for (const Instruction& instruction : scan.body->instructions)
      std::visit([&](const auto& one) { run(one, entries); }, instruction);
  });
}

}  // namespace etude
