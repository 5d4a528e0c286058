#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "cuda/runtime.hpp"

namespace etude::cuda {

/// A second stream of a GPU. Events order its work and that of the first one.
class SideStream : public SideQueue {
 public:
  /// `first`: the stream of the runtime.
  SideStream(int ordinal, cudaStream_t first);
  ~SideStream() override;
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  CUstream_st* stream() override { return side_; }
  void follow() override;
  void mark(std::size_t number) override;
  void lead(std::size_t number) override;
  bool reached(std::size_t number) override;
  void wait() noexcept override;

 private:
  /// Makes the GPU the current one, and `event` if there is none yet.
  void prepare(cudaEvent_t& event) const;

  int ordinal_;
  cudaStream_t first_, side_ = nullptr;
  cudaEvent_t followed_ = nullptr;  ///< on the first stream
  std::vector<cudaEvent_t> marks_;  ///< by number; null: none yet
};

}  // namespace etude::cuda
