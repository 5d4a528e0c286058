#pragma once

#include <algorithm>
#include <cstdint>

#include "etude/base/threads.hpp"
#include "etude/execution/device.hpp"

/// What the instructions of class Cpu share: where operands lie, and how work is dealt out.
namespace etude::cpu {

template <class T> T* at(Addresses addresses, const Operand& operand) {
  return reinterpret_cast<T*>(addresses[static_cast<std::size_t>(operand.space)] + operand.offset);
}

/// Calls body(begin, end) on stretches of [0, count), on all threads if there are at least two stretches of `grain`.
template <class Body> void split(std::int64_t count, std::int64_t grain, Body body) {
  ThreadPool& pool = thread_pool();
  const std::int64_t stretches = std::min<std::int64_t>(count / std::max<std::int64_t>(grain, 1), pool.count());
  if (stretches < 2) return body(std::int64_t{0}, count);
  struct Context {
    Body& body;
    std::int64_t count, each;
  } context{body, count, ((count + stretches - 1) / stretches + grain - 1) / grain * grain};
  const auto parts = static_cast<int>((count + context.each - 1) / context.each);
  pool.run(
      parts,
      [](void* c, int part) {
        const Context& work = *static_cast<Context*>(c);
        const std::int64_t begin = part * work.each;
        work.body(begin, std::min(begin + work.each, work.count));
      },
      &context);
}

/// Calls body with a float or a double, as the dtype says.
template <class Body> void with_float(DType dtype, Body body) {
#ifdef ETUDE_FLOAT64
  if (dtype == DType::float64) return body(double{});
#endif
  static_cast<void>(dtype);
  body(float{});
}

/// Rows of work that are worth a thread: some ten microseconds of exponentials.
inline std::int64_t row_grain(std::int64_t count) {
  return std::max<std::int64_t>(16384 / std::max<std::int64_t>(count, 1), 1);
}

}  // namespace etude::cpu
