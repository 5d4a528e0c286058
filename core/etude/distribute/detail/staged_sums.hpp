#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "etude/base/collective.hpp"

namespace etude {

class Device;
class Workers;

/// Sums the memory of a device over processes whose workers sum the host's memory: it copies each bucket to the host,
/// and the sums back.
class StagedSums : public Collective {
 public:
  /// Both must outlive it.
  StagedSums(Device& device, Workers& workers) : device_(device), workers_(workers) {}

  std::string_view name() const override;
  void all_reduce(std::span<const ReplicaSum> bucket) override;
  std::size_t bucket_bytes() const override;
  void start(std::span<const ReplicaSum> bucket, int number) override;
  void await(int number, std::size_t replica) override;

 private:
  /// A bucket, and its copy on the host.
  struct Stage {
    std::span<const ReplicaSum> on_device;
    std::vector<ReplicaSum> on_host;
    std::vector<std::byte> memory;
    std::size_t copied = 0;  ///< Values; fewer than the bucket has if a copy failed
  };
  void download(Stage& stage, std::span<const ReplicaSum> bucket) const;
  void upload(const Stage& stage) const;

  Device& device_;
  Workers& workers_;
  Stage blocking_;
  std::vector<Stage> started_;  ///< by number; moved stages keep their memory
};

}  // namespace etude
