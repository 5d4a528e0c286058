#pragma once

#include <cstddef>
#include <functional>

#include "cuda/cublas_lt.hpp"

/// A fake cuBLASLt on the host, after NVIDIA's documentation of its functions and attributes. A wrong call fails a
/// check of the running test.
namespace etude::testing::host_cublas_lt {

const cuda::CublasLt::Functions& functions();

/// The number of requests for an algorithm, and whether the library has one.
struct Library {
  int asked = 0;
  bool knows = true;
  /// Enqueues a product on a stream; products without a stream are computed at once.
  std::function<int(CUstream_st*, std::function<void()>)> queue = {};
};
Library& library();

/// The number of its objects that are not destroyed yet.
std::size_t alive();

}  // namespace etude::testing::host_cublas_lt
