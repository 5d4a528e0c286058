#include "etude/distribute/detail/staged_sums.hpp"

#include <algorithm>

#include "etude/distribute/workers.hpp"
#include "etude/execution/device.hpp"

namespace etude {
namespace {

/// Bytes of memory on the host for a Value; the next Value is aligned.
std::size_t staged_bytes(const ReplicaSum& value) {
  return (static_cast<std::size_t>(value.count) * size_of(value.dtype) + 63) / 64 * 64;
}

}  // namespace

std::string_view StagedSums::name() const { return workers_.name(); }
std::size_t StagedSums::bucket_bytes() const { return workers_.bucket_bytes(); }

void StagedSums::download(Stage& stage, std::span<const ReplicaSum> bucket) const {
  stage.copied = 0;
  std::size_t bytes = 0;
  for (const ReplicaSum& value : bucket) bytes += staged_bytes(value);
  stage.memory.resize(std::max(stage.memory.size(), bytes));
  stage.on_device = bucket;
  stage.on_host.resize(bucket.size());
  std::byte* at = stage.memory.data();
  for (; stage.copied < bucket.size(); ++stage.copied) {
    const ReplicaSum& value = bucket[stage.copied];
    device_.download(at, value.parts.front(), static_cast<std::size_t>(value.count) * size_of(value.dtype));
    ReplicaSum& staged = stage.on_host[stage.copied];
    staged.dtype = value.dtype;
    staged.count = value.count;
    staged.parts.assign(1, at);
    staged.sums.assign(1, at);
    at += staged_bytes(value);
  }
}

void StagedSums::upload(const Stage& stage) const {
  for (std::size_t i = 0; i < stage.copied; ++i) {
    const ReplicaSum& value = stage.on_device[i];
    device_.upload(value.sums.front(), stage.on_host[i].sums.front(),
                   static_cast<std::size_t>(value.count) * size_of(value.dtype));
  }
}

void StagedSums::all_reduce(std::span<const ReplicaSum> bucket) {
  download(blocking_, bucket);
  workers_.all_reduce(blocking_.on_host);
  upload(blocking_);
}

void StagedSums::start(std::span<const ReplicaSum> bucket, int number) {
  const auto index = static_cast<std::size_t>(number);
  if (started_.size() <= index) started_.resize(index + 1);
  download(started_[index], bucket);
  workers_.start(started_[index].on_host, number);
}

void StagedSums::await(int number, std::size_t replica) {
  workers_.await(number, replica);
  if (static_cast<std::size_t>(number) >= started_.size()) return;  // start() failed
  Stage& stage = started_[static_cast<std::size_t>(number)];
  upload(stage);
  stage.copied = 0;
}

}  // namespace etude
