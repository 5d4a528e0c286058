#include "etude/execution/device.hpp"

#include <cstring>

#include "etude/base/error.hpp"
#include "etude/base/task.hpp"
#include "etude/execution/attention_pattern.hpp"

namespace etude {

AttentionPatterns Device::attention_in(const Graph&, const Wanted&) const { return {}; }

PendingPtr Device::fetch(std::span<const StorageRange>) { return nullptr; }

void Device::download(void* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void Device::upload(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void Device::replay(const std::function<void()>& work, Addresses, std::unique_ptr<Recording>&) { work(); }

void Device::run(std::span<const Instruction> instructions, Addresses addresses) {
  for (const Instruction& instruction : instructions) run(instruction, addresses);
}

void Device::refuse_attention() const {
  fail(ErrorKind::internal, name(),
       "attention as one instruction - expected a device that computes it - this is a defect of the library.");
}

void Device::refuse_replicas() {
  fail(ErrorKind::internal, "Device",
       "an all-reduce - expected the plan of one replica - run plans of several by a ReplicatedPlan.");
}

void Device::run_steps(const instruction::Scan& scan, Addresses addresses) {
  each_step(scan, 0, addresses, [&](Addresses entries) { run(scan.body->instructions, entries); });
}

}  // namespace etude
