#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "cuda/cudnn.hpp"

/// A fake cuDNN on the host, after NVIDIA's documentation of its functions. A wrong call fails a check of the running
/// test.
namespace etude::testing::host_cudnn {

const cuda::Cudnn::Functions& functions();

/// A convolution that was computed.
struct Computed {
  cuda::ConvolutionPass pass;
  int algorithm;
  friend bool operator==(const Computed&, const Computed&) = default;
};

/// The behaviour of the library, and a record of its calls.
struct Library {
  bool knows_gpu = true;
  int status = 0;                       ///< with which its convolutions fail
  std::vector<int> unsupported = {2};   ///< algorithms
  std::size_t workspace = 4096;         ///< that an algorithm needs, in bytes
  int milliseconds = 1;                 ///< of each convolution
  int all_milliseconds = 0;             ///< of all convolutions so far
  std::vector<Computed> computed = {};  ///< all convolutions so far
  std::vector<int> maths = {};          ///< the type of arithmetic of each
  /// Enqueues a convolution on a stream; those without a stream are computed at once.
  std::function<int(CUstream_st*, std::function<void()>)> queue = {};
};
Library& library();

/// The number of its objects that are not destroyed yet.
std::size_t alive();

}  // namespace etude::testing::host_cudnn
