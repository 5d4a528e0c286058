#pragma once

#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "etude/kernels/cpu/cpu.hpp"

namespace etude::testing {

/// A CPU device with its own memory, like that of a GPU: the process ends if it accesses that memory otherwise than by
/// instructions and copies of the device. One thread at a time.
class SeparateDevice : public Cpu {
 public:
  std::string_view name() const override { return "/separate:0"; }
  bool reads_host_memory() const override { return false; }
  std::size_t free_memory() const override { return std::size_t{1} << 30; }
  bool reaches(const Storage& storage) const override { return dynamic_cast<const Memory*>(&storage) != nullptr; }
  std::shared_ptr<Storage> allocate(std::size_t bytes) override { return std::make_shared<Memory>(*this, bytes); }
  void download(void* to, const std::byte* from, std::size_t bytes) override {
    const Access access(*this);
    Cpu::download(to, from, bytes);
  }
  void upload(std::byte* to, const void* from, std::size_t bytes) override {
    const Access access(*this);
    Cpu::upload(to, from, bytes);
  }
  using Cpu::run;
  void run(const Instruction& instruction, Addresses addresses) override {
    const Access access(*this);
    Cpu::run(instruction, addresses);
  }

 private:
  class Memory : public Storage {
   public:
    Memory(SeparateDevice& device, std::size_t bytes) : Storage(0), device_(device), bytes_(bytes) {
      void* const pages = ::mmap(nullptr, bytes + 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (pages == MAP_FAILED) throw std::bad_alloc();
      memory_ = static_cast<std::byte*>(pages);
      device_.blocks_.emplace_back(memory_, bytes + 1);
    }
    ~Memory() override {
      std::erase_if(device_.blocks_, [this](const auto& block) { return block.data() == memory_; });
      ::munmap(memory_, bytes_ + 1);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    bool in_host_memory() const override { return false; }
    std::byte* address() override { return memory_; }
    std::size_t bytes() const override { return bytes_; }
    void read(std::size_t offset, void* out, std::size_t count) const override {
      device_.download(out, memory_ + offset, count);
    }
    void write(std::size_t offset, const void* in, std::size_t count) override {
      device_.upload(memory_ + offset, in, count);
    }
    void copy(std::size_t offset, const Storage& from, std::size_t count) override {
      std::vector<std::byte> on_host(count);
      from.read(offset, on_host.data(), count);
      write(offset, on_host.data(), count);
    }

   private:
    SeparateDevice& device_;
    std::size_t bytes_;
    std::byte* memory_;
  };

  /// While one exists, the memory can be accessed.
  class Access {
   public:
    explicit Access(SeparateDevice& device) : device_(device) {
      if (device_.accesses_++ == 0) device_.protect(PROT_READ | PROT_WRITE);
    }
    ~Access() {
      if (--device_.accesses_ == 0) device_.protect(PROT_NONE);
    }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    SeparateDevice& device_;
  };
  void protect(int access) const {
    for (const auto& block : blocks_) ::mprotect(block.data(), block.size(), access);
  }

  std::vector<std::span<std::byte>> blocks_;
  int accesses_ = 0;
};

}  // namespace etude::testing
