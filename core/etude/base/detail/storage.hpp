#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "etude/base/tensor.hpp"

namespace etude {

/// A block of a device's memory. On the host it is plain bytes; GPUs override read and write.
class Storage {
 public:
  /// `bytes` zeroed bytes of host memory.
  explicit Storage(std::size_t bytes) : memory_(Shape{static_cast<std::int64_t>(bytes)}, DType::uint8) {}
  virtual ~Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  /// Whether the host, and devices that compute in its memory, can access the block.
  virtual bool in_host_memory() const { return true; }
  /// The block's address on the device.
  virtual std::byte* address() { return memory_.raw(); }
  virtual std::size_t bytes() const { return memory_.bytes(); }
  virtual void read(std::size_t offset, void* out, std::size_t count) const {
    if (count) std::memcpy(out, memory_.raw() + offset, count);
  }
  virtual void write(std::size_t offset, const void* in, std::size_t count) {
    if (count) std::memcpy(memory_.raw() + offset, in, count);
  }
  /// Copies `count` bytes at `offset` of another storage to the same offset here.
  virtual void copy(std::size_t offset, const Storage& from, std::size_t count) {
    from.read(offset, memory_.raw() + offset, count);
  }

 private:
  Tensor memory_;
};

}  // namespace etude
