#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// One thread of a kernel. Kernels are ordinary functions of their thread. So one source runs on a GPU and, thread
/// after thread, on the host, for tests and sanitizers.

#ifdef __CUDACC__
#define ETUDE_DEVICE __device__ __forceinline__
/// Before a loop of a known length: its iterations are written out, so that arrays it indexes are registers.
#define ETUDE_UNROLL _Pragma("unroll")
#else
#define ETUDE_DEVICE inline
#define ETUDE_UNROLL
#endif

namespace etude::cuda {

/// a · b + c, with one rounding. No compiler contracts a product and a sum to this (CONTRIBUTING.md, "The CUDA
/// device"): kernels call it explicitly.
ETUDE_DEVICE float multiply_add(float a, float b, float c) { return ::fmaf(a, b, c); }
ETUDE_DEVICE double multiply_add(double a, double b, double c) { return ::fma(a, b, c); }

/// The number of neighbouring threads that run in lockstep and exchange registers.
inline constexpr unsigned warp = 32;

#ifdef __CUDACC__

struct Thread {
  /// Its number in its block, and the number of the block.
  __device__ static unsigned index() { return threadIdx.x; }
  __device__ static std::int64_t block() { return blockIdx.x; }
  /// Returns when all threads of the block have called it.
  __device__ static void sync() { __syncthreads(); }
  /// The x of the thread in the warp whose number differs from this one's in the bits of `mask`.
  template <class T> __device__ static T across(T x, unsigned mask) {
    return __shfl_xor_sync(~0u, x, static_cast<int>(mask));
  }
};

#else

/// The threads of a block on the host. While one of them waits for the others, another one runs.
class Team {
 public:
  virtual ~Team() = default;
  virtual void sync() = 0;
  virtual std::uint64_t across(std::uint64_t bits, unsigned mask) = 0;
};

struct Thread {
  unsigned number;
  std::int64_t of_block;
  Team* team;  ///< null for kernels whose threads do not synchronize

  unsigned index() const { return number; }
  std::int64_t block() const { return of_block; }
  void sync() const { team->sync(); }
  template <class T> T across(T x, unsigned mask) const {
    std::uint64_t bits = 0;
    static_assert(sizeof(T) <= sizeof(bits));
    std::memcpy(&bits, &x, sizeof(T));
    bits = team->across(bits, mask);
    std::memcpy(&x, &bits, sizeof(T));
    return x;
  }
};

#endif

}  // namespace etude::cuda
