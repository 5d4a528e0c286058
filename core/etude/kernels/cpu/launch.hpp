#pragma once

#include <algorithm>
#include <atomic>

#include "etude/base/threads.hpp"
#include "etude/execution/device.hpp"
#include "etude/kernels/cpu/gemm.hpp"
#include "etude/kernels/cpu/program_runner.hpp"

// How class Cpu finds the kernel, addresses, dtypes and threads of an instruction.

namespace etude::cpu {

/// The address of an operand; null for an unused one.
template <class T> T* at(Addresses addresses, const Operand& operand) {
  if (operand.space < 0) return nullptr;
  return reinterpret_cast<T*>(addresses[static_cast<std::size_t>(operand.space)] + operand.offset);
}

inline Workers workers() {
  ThreadPool& pool = thread_pool();
  return {pool.count(),
          [](void* p, int parts, void (*task)(void*, int), void* context) {
            static_cast<ThreadPool*>(p)->run(parts, task, context);
          },
          &pool};
}

/// The workers for which the workspace was sized: there may be more threads now than when the plan was made.
/// `bytes_for(count)` is the workspace of `count` workers.
template <class BytesFor> Workers workers_within(std::size_t bytes, BytesFor bytes_for) {
  Workers all = workers();
  while (all.count > 1 && bytes_for(all.count) > bytes) --all.count;
  return all;
}

/// The program that a product or convolution runs over finished rows of its result.
struct Epilogue {
  const Kernels& kernels;
  const instruction::Elementwise* program;  // null: none
  std::int64_t columns;                     // of the result
  Addresses addresses;
  std::int64_t first_row = 0;  // the row of the result that the kernel numbers 0

  /// Sets the kernel's callback, if there is a program.
  template <class Arguments> void join(Arguments& arguments) {
    if (program == nullptr) return;
    arguments.context = this;
    arguments.rows_done = [](void* context, std::int64_t begin, std::int64_t end) {
      const Epilogue& e = *static_cast<Epilogue*>(context);
      run_program(e.kernels, e.program->program, e.program->segments.front(), (e.first_row + begin) * e.columns,
                  (e.first_row + end) * e.columns, e.addresses);
    };
  }
};

/// Calls body(begin, end) on chunks of [0, count), on all threads if there are at least two chunks of `grain`. There
/// are more chunks than threads, so that a slow core processes fewer of them.
template <class Body> void split(std::int64_t count, std::int64_t grain, Body body) {
  ThreadPool& pool = thread_pool();
  const std::int64_t most = pool.count() > 1 ? 4 * std::int64_t{pool.count()} : 1;
  const std::int64_t chunks = std::min<std::int64_t>(count / std::max<std::int64_t>(grain, 1), most);
  if (chunks < 2) return body(std::int64_t{0}, count);
  struct Context {
    Body& body;
    std::int64_t count, each;
  } context{body, count, ((count + chunks - 1) / chunks + grain - 1) / grain * grain};
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

/// Calls body(item, thread) for each item of [0, count), on `threads` threads. `thread` is a number below `threads`
/// that no two concurrent calls have in common.
template <class Body> void for_each_item(std::int64_t count, int threads, Body body) {
  struct Context {
    Body& body;
    std::int64_t count;
    std::atomic<std::int64_t> next{0};
  } context{body, count};
  thread_pool().run(
      threads,
      [](void* c, int thread) {
        Context& work = *static_cast<Context*>(c);
        for (std::int64_t item; (item = work.next++) < work.count;) work.body(item, thread);
      },
      &context);
}

/// Calls body with a float or a double, depending on the dtype.
template <class Body> void with_float(DType dtype, Body body) {
#ifdef ETUDE_FLOAT64
  if (dtype == DType::float64) return body(double{});
#endif
  static_cast<void>(dtype);
  body(float{});
}

/// Rows for which another thread pays: some ten microseconds of exponentials.
inline std::int64_t row_grain(std::int64_t count) {
  return std::max<std::int64_t>(16384 / std::max<std::int64_t>(count, 1), 1);
}

}  // namespace etude::cpu
