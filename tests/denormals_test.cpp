#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "etude/base/detail/denormals.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"
#include "support.hpp"

// Denormal numbers. On targets that cannot flush them to zero they are unchanged.
using namespace etude;
using namespace etude::testing;

namespace {

constexpr bool flushes = FlushDenormals::flush != 0;

/// Half of the smallest normal number, computed by this thread.
double half_of_smallest() {
  volatile double smallest = std::numeric_limits<double>::min();
  return smallest / 2;
}

/// A plan over `count` elements whose inputs, or results, are denormal.
Tensor run_tiny(DType dtype, std::int64_t size, bool read) {
  const bool wide = dtype == DType::float64;
  const double root = wide ? 0x1p-515 : 0x1p-65, x = read ? root * root : root, big = wide ? 0x1p600 : 0x1p80;
  const Tensor given = Tensor::from({size}, std::vector<double>(static_cast<std::size_t>(size), x)).astype(dtype);
  return run({given}, [&](std::span<const Value> v) { return (read ? v[0] : v[0] * v[0]) * big; });
}

}  // namespace

TEST_CASE("a plan flushes denormal inputs and results to zero", "[execution][denormals]") {
  for (const DType dtype : {DType::float32, DType::float64})
    for (const bool read : {true, false}) {
      INFO(dtype << ", read " << read);
      CHECK((run_tiny(dtype, 100, read).at(99) == 0) == flushes);
    }
}

TEST_CASE("matrix products flush denormals to zero, on every instruction set", "[execution][denormals]") {
  const std::vector<Tensor> x{Tensor::from({5, 3}, std::vector<double>(15, 0x1p-70)).astype(DType::float32),
                              Tensor::from({3, 4}, std::vector<double>(12, 0x1p-60)).astype(DType::float32)};
  for (Cpu& device : instruction_sets()) {
    INFO(device.isa());
    const Tensor y = run_on(device, x, [](std::span<const Value> v) { return ops::matmul(v[0], v[1]) * 0x1p60; });
    for (const double element : numbers(y)) CHECK((element == 0) == flushes);
  }
}

TEST_CASE("a plan restores the floating-point mode of its caller", "[execution][denormals]") {
  const std::uint64_t mode = FlushDenormals::mode();
  CHECK(half_of_smallest() > 0);
  run_tiny(DType::float32, 100, true);
  CHECK(half_of_smallest() > 0);
  {
    const FlushDenormals flush;
    run_tiny(DType::float32, 100, true);
    CHECK((half_of_smallest() == 0) == flushes);
  }
  CHECK(half_of_smallest() > 0);
  constexpr std::uint64_t what_happened = 0x3F;  // the exception flags of MXCSR
  CHECK((FlushDenormals::mode() & ~what_happened) == (mode & ~what_happened));
}

#ifdef ETUDE_THREADS
TEST_CASE("all threads of a pool flush denormals", "[threads][denormals]") {
  struct Parts {
    std::atomic<int> begun{0};
    std::atomic<int> flushed{0};
  } parts;
  ThreadPool pool(3);
  const FlushDenormals mode;
  // Each part waits for the others, so that each thread processes one.
  const auto task = [](void* context, int) {
    Parts& all = *static_cast<Parts*>(context);
    ++all.begun;
    while (all.begun < 3) {
    }
    all.flushed += half_of_smallest() == 0;
  };
  pool.run(3, task, &parts);
  CHECK(parts.flushed == (flushes ? 3 : 0));
}
#endif

TEST_CASE("plans with denormals have the same bits for any number of threads", "[threads][denormals]") {
  const auto on = [](int count) {
    const Threads threads(count);
    return run_tiny(DType::float32, 1 << 18, false);
  };
  CHECK(same_bits(on(1), on(4)));
}
