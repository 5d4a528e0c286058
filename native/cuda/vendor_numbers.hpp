#pragma once

#include <cstdint>

// The numbers of NVIDIA's headers that Étude passes to libraries at run time: a machine without the CUDA toolkit does
// not have these headers. tests/cuda/real_headers.cpp compares them with the headers.

/// Source: cublasLt.h, cublas_api.h and library_types.h.
namespace etude::cuda::vendor::cublas_lt {

inline constexpr int no_memory = 3, invalid_value = 7, wrong_architecture = 8, failed_on_gpu = 13, not_supported = 15;
inline constexpr int real_float32 = 0, real_float64 = 1, real_float16 = 2, real_bfloat16 = 14;
inline constexpr int compute_float32 = 68, compute_float64 = 70, compute_tf32 = 77;
inline constexpr std::int32_t transpose = 1;
inline constexpr int description_transposes_a = 3, description_transposes_b = 4, description_epilogue = 7,
                     description_bias = 8;
inline constexpr std::uint32_t epilogue_bias = 4;  // one number for each of cuBLASLt's rows, which are our columns
inline constexpr int layout_batch_count = 5, layout_batch_stride = 6;
inline constexpr std::uint32_t reduction_in_compute_type = 2;  // or none, which is 0: never in half precision
inline constexpr int preference_workspace = 1, preference_reductions = 3, preference_alignment_a = 5,
                     preference_alignment_b = 6, preference_alignment_c = 7, preference_alignment_d = 8;

}  // namespace etude::cuda::vendor::cublas_lt

/// Source: cudnn_graph.h, cudnn_ops.h and cudnn_cnn.h.
namespace etude::cuda::vendor::cudnn {

inline constexpr int no_host_memory = 4003, no_device_memory = 4004;
inline constexpr int type_float32 = 0, type_float16 = 2, type_bfloat16 = 9;
inline constexpr int channels_last = 1;      // of tensors; of filters: [filters, height, width, channels]
inline constexpr int cross_correlation = 1;  // not a convolution, which would flip the kernel
inline constexpr int math_by_tensor_cores = 1, math_as_stored = 3;
// Without algorithms that add by atomics, and without those that transform patches, by Winograd or Fourier, which round
// differently.
inline constexpr int forward_algorithms[] = {1, 0, 2};  // implicit with indices, implicit, explicit
inline constexpr int input_algorithms[] = {1}, filter_algorithms[] = {1};

}  // namespace etude::cuda::vendor::cudnn

/// Source: nccl.h.
namespace etude::cuda::vendor::nccl {

inline constexpr int type_int32 = 2, type_float16 = 6, type_float32 = 7, type_float64 = 8, type_bfloat16 = 9;
inline constexpr int op_sum = 0;
inline constexpr int remote_error = 6, in_progress = 7;
inline constexpr int safe_version = 21900;  // 2.19: an abort does not wait for a process that has ended
inline constexpr unsigned config_magic = 0xcafebeef, config_version = 21400;  // the first version with `blocking`

}  // namespace etude::cuda::vendor::nccl

/// Source: nvrtc.h.
namespace etude::cuda::vendor::nvrtc {

inline constexpr int invalid_option = 5;

}  // namespace etude::cuda::vendor::nvrtc
