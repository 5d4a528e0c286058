#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "etude/base/task.hpp"
#include "etude/kernels/cpu/cpu.hpp"

namespace etude::testing {

/// An event loop that runs work after some turns.
class Turns {
 public:
  /// Calls `work` after that number of turns.
  void after(int turns, std::function<void()> work) { queue_.push_back({turns, std::move(work)}); }
  /// The result of a coroutine, which may await the work of later turns. Throws std::logic_error if nothing is left
  /// that could resume it.
  template <class T> T result(Task<T> task) {
    if (!task.await_ready()) {
      task.await_suspend(std::noop_coroutine());
      while (!task.done()) turn();
    }
    return task.await_resume();
  }

 private:
  struct Entry {
    int turns;
    std::function<void()> work;
  };
  void turn() {
    if (queue_.empty()) throw std::logic_error("a coroutine waits for nothing");
    for (Entry& entry : std::exchange(queue_, {}))
      if (--entry.turns > 0)
        queue_.push_back(std::move(entry));
      else
        entry.work();
  }
  std::vector<Entry> queue_;
};

/// A CPU device with its own memory, which the host can read only two turns after a fetch, like that of a GPU in a
/// page. Reading bytes that were not fetched, or have changed since, throws std::logic_error.
class LaterDevice : public Cpu {
 public:
  explicit LaterDevice(Turns& turns) : turns_(turns) {}
  /// The number of fetches.
  int fetches = 0;

  std::string_view name() const override { return "/later:0"; }
  bool reads_host_memory() const override { return false; }
  bool reaches(const Storage& storage) const override { return dynamic_cast<const Memory*>(&storage) != nullptr; }
  std::shared_ptr<Storage> allocate(std::size_t bytes) override { return std::make_shared<Memory>(bytes); }
  bool reads_later() const override { return true; }
  PendingPtr fetch(std::span<const StorageRange> ranges) override {
    ++fetches;
    std::vector<std::function<void()>> arrivals;
    for (const auto& [storage, offset, bytes] : ranges)
      arrivals.push_back(dynamic_cast<const Memory&>(*storage).copy_of(offset, bytes));
    return std::make_unique<Later>(turns_, std::move(arrivals));
  }

 private:
  class Memory : public Storage {
   public:
    explicit Memory(std::size_t bytes) : Storage(bytes) {}
    bool in_host_memory() const override { return false; }
    void read(std::size_t offset, void* out, std::size_t count) const override {
      for (auto copy = copies_->rbegin(); copy != copies_->rend(); ++copy) {
        if (offset < copy->offset || offset + count > copy->offset + copy->bytes.size()) continue;
        std::memcpy(out, copy->bytes.data() + (offset - copy->offset), count);
        std::vector<std::byte> now(count);
        Storage::read(offset, now.data(), count);
        if (std::memcmp(out, now.data(), count) != 0) throw std::logic_error("what was fetched has changed since");
        return;
      }
      throw std::logic_error("device memory is read before it was fetched");
    }
    void copy(std::size_t offset, const Storage& from, std::size_t count) override {
      if (from.in_host_memory()) return Storage::copy(offset, from, count);
      std::memcpy(address() + offset, const_cast<Storage&>(from).address() + offset, count);
    }
    /// Copies the bytes now. Calling the result makes the copy readable.
    std::function<void()> copy_of(std::size_t offset, std::size_t bytes) const {
      Copy copy{offset, std::vector<std::byte>(bytes)};
      Storage::read(offset, copy.bytes.data(), bytes);
      return [copy = std::move(copy), copies = copies_] { copies->push_back(copy); };
    }

   private:
    struct Copy {
      std::size_t offset;
      std::vector<std::byte> bytes;
    };
    std::shared_ptr<std::vector<Copy>> copies_ = std::make_shared<std::vector<Copy>>();
  };

  struct Later : Pending {
    Later(Turns& in, std::vector<std::function<void()>> copies) : turns(in), arrivals(std::move(copies)) {}
    bool ready() const override { return false; }
    void on_ready(std::coroutine_handle<> resume) override {
      turns.after(2, [resume, copies = arrivals] {
        for (const auto& arrive : copies) arrive();
        resume.resume();
      });
    }
    void rethrow() override {}
    Turns& turns;
    std::vector<std::function<void()>> arrivals;
  };

  Turns& turns_;
};

}  // namespace etude::testing
