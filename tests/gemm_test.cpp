#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "etude/kernels/cpu/kernels.hpp"

namespace {

using etude::cpu::GemmArguments;
using etude::cpu::Workers;

/// The products of type T of every instruction set of this build that this machine can run.
template <class T> struct Gemm {
  std::string isa;
  void (*run)(const GemmArguments<T>&, const Workers&);
  std::int64_t (*workspace)(std::int64_t, std::int64_t, std::int64_t, std::int64_t, int);
};

template <class T> std::vector<Gemm<T>> gemms() {
  std::vector<Gemm<T>> all;
  for (const etude::cpu::Kernels& kernels : etude::cpu::available_kernels()) {
    const auto& typed = etude::cpu::float_kernels<T>(kernels);
    if (typed.gemm != nullptr) all.push_back({kernels.isa, typed.gemm, typed.gemm_workspace});
  }
  return all;
}

/// Runs each part on a separate thread; without threads, one after another, the last first.
Workers workers(int count) {
  const auto run = [](void*, int parts, void (*task)(void*, int), void* context) {
#if !defined(__EMSCRIPTEN__) || defined(__EMSCRIPTEN_PTHREADS__)
    std::vector<std::thread> threads;
    for (int part = 1; part < parts; ++part) threads.emplace_back(task, context, part);
    task(context, 0);
    for (std::thread& thread : threads) thread.join();
#else
    for (int part = parts - 1; part >= 0; --part) task(context, part);
#endif
  };
  return {count, run, nullptr};
}

struct Case {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b, accumulate;
  std::int64_t padding;  // of every matrix's rows

  std::string name() const {
    return std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k) + (transpose_a ? " At" : " A") +
           (transpose_b ? " Bt" : " B") + (accumulate ? " accumulate" : "") + " padding " + std::to_string(padding);
  }
};

/// One case's operands. Padding of A and B is NaN, which propagates to any result that reads it; padding of C and the
/// memory after the workspace must not change.
template <class T>
struct Fixture {
  static constexpr T untouched = T(12345);
  static constexpr std::size_t guard = 64;

  Case shape;
  std::int64_t lda, ldb, ldc;
  std::vector<T> a, b, c;

  explicit Fixture(const Case& shape_, unsigned seed = 1) : shape(shape_) {
    std::mt19937 random(seed);
    lda = (shape.transpose_a ? shape.m : shape.k) + shape.padding;
    ldb = (shape.transpose_b ? shape.k : shape.n) + shape.padding;
    ldc = shape.n + shape.padding;
    a = matrix(shape.transpose_a ? shape.k : shape.m, lda, std::numeric_limits<T>::quiet_NaN(), random);
    b = matrix(shape.transpose_b ? shape.n : shape.k, ldb, std::numeric_limits<T>::quiet_NaN(), random);
    c = matrix(shape.m, ldc, untouched, random);
  }

  std::vector<T> matrix(std::int64_t rows, std::int64_t distance, T padding, std::mt19937& random) const {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<T> values;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < distance; ++j)
        values.push_back(j < distance - shape.padding ? static_cast<T>(uniform(random)) : padding);
    if (rows > 0)
      values.resize(values.size() -
                    static_cast<std::size_t>(shape.padding));  // the last row ends with its last element
    return values;
  }

  double at_a(std::int64_t i, std::int64_t p) const {
    return static_cast<double>(a[static_cast<std::size_t>(shape.transpose_a ? p * lda + i : i * lda + p)]);
  }
  double at_b(std::int64_t p, std::int64_t j) const {
    return static_cast<double>(b[static_cast<std::size_t>(shape.transpose_b ? j * ldb + p : p * ldb + j)]);
  }

  struct Result {
    std::vector<T> c;
    std::vector<int> finished;  // the number of reports of each row
    bool in_bounds;
  };

  Result run(const Gemm<T>& gemm, int count) const {
    struct Report {
      std::mutex mutex;
      std::vector<int> finished;
    } report;
    report.finished.resize(static_cast<std::size_t>(shape.m));
    const auto rows_done = [](void* context, std::int64_t begin, std::int64_t end) {
      auto& to = *static_cast<Report*>(context);
      const std::lock_guard lock(to.mutex);
      for (std::int64_t i = begin; i < end; ++i) ++to.finished.at(static_cast<std::size_t>(i));
    };
    const auto size = static_cast<std::size_t>(gemm.workspace(shape.m, shape.n, shape.k, 1, count));
    std::vector<T> memory(size + 2 * guard, untouched);
    void* start = memory.data();
    std::size_t space = memory.size() * sizeof(T);
    T* workspace = static_cast<T*>(std::align(64, size * sizeof(T), start, space));
    std::vector<T> result = c;
    gemm.run({shape.m, shape.n, shape.k, a.data(), lda, shape.transpose_a, b.data(), ldb, shape.transpose_b,
              result.data(), ldc, shape.accumulate, workspace, rows_done, &report},
             workers(count));
    const bool in_bounds =
        std::all_of(workspace + size, memory.data() + memory.size(), [](T value) { return value == untouched; });
    return {result, report.finished, in_bounds};
  }

  /// The largest error relative to the rounding error, infinite if the padding of C was written. For large products
  /// every few rows are checked.
  double error(const std::vector<T>& result) const {
    double worst = 0;
    const std::int64_t step = shape.m * shape.n * shape.k < 1'000'000 ? 1 : 7;
    for (std::int64_t i = shape.m - 1; i >= 0; i -= step)
      for (std::int64_t j = 0; j < ldc; ++j) {
        const auto at = static_cast<std::size_t>(i * ldc + j);
        if (at >= c.size()) continue;
        if (j >= shape.n) {
          if (result[at] != untouched) return std::numeric_limits<double>::infinity();
          continue;
        }
        double sum = shape.accumulate ? static_cast<double>(c[at]) : 0, magnitude = std::abs(sum);
        for (std::int64_t p = 0; p < shape.k; ++p) {
          sum += at_a(i, p) * at_b(p, j);
          magnitude += std::abs(at_a(i, p) * at_b(p, j));
        }
        const double allowed =
            static_cast<double>(std::numeric_limits<T>::epsilon()) * static_cast<double>(shape.k + 1) * magnitude +
            1e-300;
        const double off = std::abs(static_cast<double>(result[at]) - sum) / allowed;
        worst = std::isnan(off) ? std::numeric_limits<double>::infinity() : std::max(worst, off);
      }
    return worst;
  }
};

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

/// All transposes of a shape, plain and accumulating into matrices with padded rows, for each number of workers.
template <class T>
void check_shape(std::int64_t m, std::int64_t n, std::int64_t k, std::initializer_list<int> counts = {1}) {
  for (const Gemm<T>& gemm : gemms<T>()) {
    for (int bits = 0; bits < 8; ++bits) {
      const Fixture<T> fixture({m, n, k, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 4) != 0 ? 3 : 0});
      INFO(gemm.isa << ": " << fixture.shape.name());
      const auto alone = fixture.run(gemm, 1);
      CHECK(fixture.error(alone.c) <= 1);
      for (const int count : counts) {
        INFO(count << " workers");
        const auto result = fixture.run(gemm, count);
        CHECK(result.in_bounds);
        CHECK(std::all_of(result.finished.begin(), result.finished.end(), [](int times) { return times == 1; }));
        CHECK(same_bits(result.c, alone.c));
      }
    }
  }
}

TEST_CASE("gemm: every small shape", "[gemm]") {
  for (std::int64_t m : {1, 2, 3, 5, 8, 13})
    for (std::int64_t n : {1, 2, 4, 7, 9, 16, 17, 33})
      for (std::int64_t k : {1, 2, 7, 8, 19}) {
        check_shape<float>(m, n, k);
        check_shape<double>(m, n, k);
      }
}

TEST_CASE("gemm: random shapes", "[gemm]") {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> small(1, 40), large(30, 210);
  for (int i = 0; i < 30; ++i) {
    check_shape<float>(small(random), small(random), small(random), {1, 2});
    check_shape<float>(large(random), large(random), large(random), {2, 3});
    check_shape<double>(small(random), large(random), small(random), {1, 2});
  }
}

TEST_CASE("gemm: shapes of real layers", "[gemm][long]") {
  const std::array<std::int64_t, 3> shapes[] = {
      {128, 512, 784}, {128, 10, 512}, {784, 512, 128}, {512, 10, 128}, {128, 512, 10}, {32, 16, 2}, {1, 10, 512},
      {1, 512, 784},   {32, 16, 16},   {32, 1, 16},     {2, 16, 32},    {16, 16, 32},   {16, 1, 32}, {32, 16, 1}};
  for (const auto& [m, n, k] : shapes) check_shape<float>(m, n, k, {1, 2, 3, 8});
}

TEST_CASE("gemm: the same bits for any number of workers", "[gemm]") {
  check_shape<float>(1, 1000, 700, {1, 2, 3, 8});
  check_shape<float>(1000, 1, 700, {1, 2, 3, 8});
  check_shape<float>(5, 700, 300, {1, 2, 3, 8});
  check_shape<float>(150, 150, 600, {1, 2, 3, 8});
  check_shape<float>(301, 37, 311, {1, 2, 3, 8});
  check_shape<float>(601, 13, 70, {1, 2, 3, 8});
  check_shape<double>(151, 131, 299, {1, 2, 3, 8});
}

TEST_CASE("gemm: a row has the same bits in every batch", "[gemm]") {
  for (const Gemm<float>& gemm : gemms<float>()) {
    const Fixture<float> whole({70, 33, 300, false, false, false, 0});
    const auto all = whole.run(gemm, 1).c;
    for (std::int64_t rows : {1, 2, 5, 6, 7, 31}) {
      Fixture<float> part = whole;
      part.shape.m = rows;
      part.c.resize(static_cast<std::size_t>(rows * part.ldc));
      INFO(gemm.isa << ": " << rows << " rows");
      CHECK(same_bits(part.run(gemm, 1).c, {all.data(), all.data() + rows * part.ldc}));
    }
  }
}

TEST_CASE("gemm: a sum without terms is zero", "[gemm]") {
  check_shape<float>(3, 5, 0);
  check_shape<float>(1, 5, 0);
  check_shape<float>(5, 1, 0);
}

}  // namespace
