#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <optional>

namespace etude::cuda {

/// Milliseconds that a GPU takes for the work that `work` enqueues on a stream: the median of five runs, or of one long
/// run, after a run that is not counted. Nothing if `work` returns false. Waits for the stream.
std::optional<double> milliseconds_of(const std::function<bool()>& work, cudaStream_t stream);

}  // namespace etude::cuda
