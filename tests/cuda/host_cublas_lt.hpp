#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "cuda/cublas_lt.hpp"

/// A fake cuBLASLt on the host, after NVIDIA's documentation of its functions and attributes. A wrong call fails a
/// check of the running test.
namespace etude::testing::host_cublas_lt {

const cuda::CublasLt::Functions& functions();

/// An algorithm, by its number.
struct Algorithm {
  std::uint64_t number;
  int milliseconds = 1;  ///< of each product
  int status = 0;        ///< with which its products fail
  bool accepted = true;  ///< whether the library still supports it from an earlier process
};

/// The state of the library, and a record of its calls.
struct Library {
  bool knows = true;                                       ///< whether it has an algorithm
  std::vector<Algorithm> algorithms = {{42, 2}, {43, 1}};  ///< the one that it advises first comes first
  int asked = 0;                                           ///< for algorithms
  int milliseconds = 0;                                    ///< of all products so far
  std::vector<std::uint64_t> multiplied = {};              ///< the algorithm of each product
  /// Enqueues a product on a stream; products without a stream are computed at once.
  std::function<int(CUstream_st*, std::function<void()>)> queue = {};
};
Library& library();

/// The number of its objects that are not destroyed yet.
std::size_t alive();

}  // namespace etude::testing::host_cublas_lt
