#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cuda/chooser.hpp"
#include "host_cudnn.hpp"
#include "host_runtime.hpp"

namespace etude::testing {

/// A GPU with cuDNN, on which our convolutions take the given milliseconds.
class CudnnRuntime : public HostRuntime {
 public:
  explicit CudnnRuntime(std::shared_ptr<cuda::Choices> choices, double ours = 100, bool tf32 = false,
                        bool has_products = true)
      : HostRuntime(has_products),
        chooser_(
            std::move(choices),
            [ours](const cuda::Chooser::Work& work) {
              const int before = host_cudnn::library().all_milliseconds;
              if (!work()) return std::optional<double>();
              return std::optional<double>(host_cudnn::library().all_milliseconds == before
                                               ? ours
                                               : host_cudnn::library().all_milliseconds - before);
            },
            [this] { return !recording(); }),
        cudnn_(host_cudnn::functions(), tf32, stream()) {
    host_cudnn::library() = {.queue = [](CUstream_st* stream, std::function<void()> work) {
      reinterpret_cast<HostStream*>(stream)->queue(std::move(work));
      return 0;
    }};
  }
  cuda::Chooser* chooser() override { return &chooser_; }
  std::size_t convolution_workspace() const override { return cuda::Cudnn::workspace_bytes; }
  std::vector<int> convolution_algorithms(const cuda::VendorConvolution& c) override {
    return recording() ? cudnn_.known_algorithms(c) : cudnn_.algorithms(c);
  }
  bool convolve(const cuda::VendorConvolution& c, int algorithm) override {
    expect_here(c.workspace, convolution_workspace());
    return cudnn_.convolve(c, algorithm);
  }

 private:
  cuda::Chooser chooser_;
  cuda::Cudnn cudnn_;
};

}  // namespace etude::testing
