#pragma once

#include <cstddef>
#include <functional>

#include "cuda/cublas_lt.hpp"

/// cuBLASLt, played on the host by what NVIDIA documents of its functions and attributes; checks of the test that runs
/// are what it says of others.
namespace etude::testing::host_cublas_lt {

const cuda::CublasLt::Functions& functions();

/// How often an algorithm was asked for, and whether there is one.
struct Library {
  int asked = 0;
  bool knows = true;
  /// Where products for a stream go; they are done at once for none.
  std::function<int(CUstream_st*, std::function<void()>)> queue = {};
};
Library& library();

/// How many of its objects nobody has given back yet.
std::size_t alive();

}  // namespace etude::testing::host_cublas_lt
