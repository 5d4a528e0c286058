#pragma once

#include <type_traits>

#include "cuda/runtime.hpp"
#include "cuda/thread.hpp"

// A kernel's body is a struct of its arguments:
//
//     struct Double {
//       static constexpr const char* name = "double";
//       float* x;
//       ETUDE_DEVICE void operator()(std::int64_t i) const { x[i] *= 2; }
//     };
//     launch_each(runtime, count, Double{x});
//
// is called for each of `count` elements. If threads cooperate, the struct declares the threads of a block, `static
// constexpr unsigned threads`, and is called with its thread; `launch` enqueues a number of blocks. A kernel that would
// spill registers declares `static constexpr bool wants_registers = true`. A kernel whose threads share memory has a
// struct Shared of it, and takes it as second argument; a kernel whose threads wait for each other declares `using
// Meets = void`.

namespace etude::cuda {

/// The default number of threads of a block.
inline constexpr unsigned usual_threads = 256;

/// The number of blocks for these items, if a block processes `each` items.
constexpr std::int64_t blocks_for(std::int64_t items, std::int64_t each) { return (items + each - 1) / each; }

template <class Body>
concept Shares = requires { typename Body::Shared; };
template <class Body>
concept ThreadsMeet = requires { typename Body::Meets; };
template <class Body>
concept WantsRegisters = requires { requires Body::wants_registers; };

#ifdef __CUDACC__

template <class Body> ETUDE_DEVICE void run_body(const Body& body) {
  if constexpr (Shares<Body>) {
    __shared__ typename Body::Shared shared;
    body(Thread{}, shared);
  } else {
    body(Thread{});
  }
}

template <class Body> __global__ void __launch_bounds__(Body::threads) enter(const Body body) { run_body(body); }
/// For one block per multiprocessor: a thread has twice as many registers.
template <class Body> __global__ void __launch_bounds__(Body::threads, 1) enter_alone(const Body body) {
  run_body(body);
}

template <class Body> const void* function_of() {
  if constexpr (WantsRegisters<Body>)
    return reinterpret_cast<const void*>(&enter_alone<Body>);
  else
    return reinterpret_cast<const void*>(&enter<Body>);
}

#else

using HostFunction = void (*)(const void* arguments, const Thread& thread, void* shared);

template <class Body> void enter(const void* arguments, const Thread& thread, void* shared) {
  const Body& body = *static_cast<const Body*>(arguments);
  if constexpr (Shares<Body>)
    body(thread, *static_cast<typename Body::Shared*>(shared));
  else
    body(thread);
}

template <class Body> const void* function_of() { return reinterpret_cast<const void*>(&enter<Body>); }

#endif

template <class Body> const Kernel& kernel_of() {
  static_assert(std::is_trivially_copyable_v<Body>);
  constexpr std::size_t shared = [] {
    if constexpr (Shares<Body>)
      return sizeof(typename Body::Shared);
    else
      return std::size_t{0};
  }();
  static const Kernel kernel{Body::name, function_of<Body>(), Body::threads, sizeof(Body), shared, ThreadsMeet<Body>};
  return kernel;
}

/// Enqueues a body's kernel; does nothing for 0 blocks.
template <class Body> void launch(Runtime& runtime, std::int64_t blocks, const Body& body) {
  if (blocks > 0) runtime.launch(kernel_of<Body>(), blocks, &body);
}

/// A thread for each element.
template <class Body> struct EachElement {
  static constexpr const char* name = Body::name;
  static constexpr unsigned threads = usual_threads;
  Body body;
  std::int64_t count;

  ETUDE_DEVICE void operator()(const Thread& thread) const {
    if (const std::int64_t i = thread.block() * threads + thread.index(); i < count) body(i);
  }
};

/// Enqueues a kernel that calls the body for each of [0, count).
template <class Body> void launch_each(Runtime& runtime, std::int64_t count, const Body& body) {
  launch(runtime, blocks_for(count, usual_threads), EachElement<Body>{body, count});
}

}  // namespace etude::cuda
