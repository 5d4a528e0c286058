#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <optional>

namespace etude::cuda {

/// Milliseconds that a GPU takes for what `work` enqueues on a stream: the median of five runs, or one that takes long,
/// after a run that does not count. Nothing if `work` returns false. Waits for the stream.
std::optional<double> milliseconds_of(const std::function<bool()>& work, cudaStream_t stream);

}  // namespace etude::cuda
