#pragma once

#include <cstddef>
#include <functional>

namespace etude::testing {

/// The interface of a fake GPU's stream for the fakes of NVIDIA's libraries.
class HostStream {
 public:
  virtual ~HostStream() = default;
  /// The GPU's number.
  virtual int gpu() const = 0;
  /// Whether other threads must wait before they use the GPU.
  virtual bool locked() const = 0;
  virtual bool recording() const = 0;
  /// Throws std::logic_error unless the range is memory of the GPU that others can access.
  virtual void expect_here(const std::byte* memory, std::size_t bytes) const = 0;
  /// The same when work uses the memory.
  virtual void expect_usable(const std::byte* memory, std::size_t bytes) const { expect_here(memory, bytes); }

  virtual void queue(std::function<void()> work) = 0;
  /// A function that executes all current work of the stream, unless that is done already.
  virtual std::function<void()> so_far() = 0;
};

}  // namespace etude::testing
