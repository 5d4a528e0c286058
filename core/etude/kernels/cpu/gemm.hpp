#pragma once

#include <cstdint>

namespace etude::cpu {

/// Distributes the parts of a kernel: `run(pool, parts, task, context)` calls `task(context, part)` for every part in
/// [0, parts), on any threads, and returns when all of them are done. `count = 1`: only the caller's thread works and
/// `run` is not used.
struct Workers {
  int count;
  void (*run)(void* pool, int parts, void (*task)(void* context, int part), void* context);
  void* pool;
};

/// Products of one shape whose operands lie at different addresses: `axes` batch axes, outermost first, and for each
/// axis the distance to the next operand in elements. A distance of 0 reuses an operand.
struct GemmBatch {
  int axes = 0;
  const std::int64_t *extents = nullptr, *a = nullptr, *b = nullptr, *c = nullptr;

  std::int64_t count() const {
    std::int64_t product = 1;
    for (int axis = 0; axis < axes; ++axis) product *= extents[axis];
    return product;
  }
};

/// One matrix product, or a batch of them, row-major, T = float or double:
///
///     C[m, n] = op(A)[m, k] · op(B)[k, n]      (+ C, if `accumulate`)
///
/// A is stored [m, k], or [k, m] if `transpose_a`; B is stored [k, n], or [n, k] if `transpose_b`; `lda`, `ldb` and
/// `ldc` are the distances between stored rows, in elements. C overlaps neither A nor B.
template <class T>
struct GemmArguments {
  std::int64_t m, n, k;
  const T* a;
  std::int64_t lda;
  bool transpose_a;
  const T* b;
  std::int64_t ldb;
  bool transpose_b;
  T* c;
  std::int64_t ldc;
  bool accumulate;
  /// gemm_workspace<T>(m, n, k, batch.count(), workers.count) elements, 64-byte aligned. Nothing in it is kept between
  /// calls.
  T* workspace;
  /// The epilogue (bias, activation): called exactly once for every row of C, in blocks of finished rows [begin, end)
  /// (all n columns, all k), on the thread that computed them, while they are in cache. Row i of product b is row b · m
  /// + i. It may be called from several threads. May be null.
  void (*rows_done)(void* context, std::int64_t begin, std::int64_t end);
  void* context;
  GemmBatch batch = {};
};

}  // namespace etude::cpu

#ifdef ETUDE_ISA
namespace etude::cpu::ETUDE_ISA {

/// Every element of C is a sum over k whose order depends only on the shape: the bits are the same for any number of
/// workers.
void gemm(const GemmArguments<float>& arguments, const Workers& workers);
void gemm(const GemmArguments<double>& arguments, const Workers& workers);

/// The elements of workspace that this many products of this shape need at most, transposed or not. Defined for float
/// and double.
template <class T>
std::int64_t gemm_workspace(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, int workers);

}  // namespace etude::cpu::ETUDE_ISA
#endif
