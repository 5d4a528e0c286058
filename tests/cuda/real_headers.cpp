// Compares Étude's copies of numbers in NVIDIA's headers, and those of the fake CUDA, with the real ones, if the
// headers are installed. ./dev test cuda compiles it with ETUDE_REAL_HEADERS and CUDA's include folder; it generates no
// code.
#ifdef ETUDE_REAL_HEADERS

// Included first: their declarations in namespace etude::cuda have names of the real ones.
#include "cuda/cublas_lt.hpp"
#include "cuda/cudnn.hpp"
#include "cuda/driver.hpp"
#include "cuda/nccl.hpp"
#include "cuda/nccl_workers.hpp"
#include "cuda/vendor_numbers.hpp"

#include <cuda.h>
#include <cuda_runtime.h>
#include <library_types.h>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define HAS_CUBLASLT
#else
#pragma message("skipped: cublasLt.h is not installed")
#endif
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#define HAS_CUDNN
#else
#pragma message("skipped: cudnn.h is not installed")
#endif
#if __has_include(<nccl.h>)
#include <nccl.h>
#define HAS_NCCL
#else
#pragma message("skipped: nccl.h is not installed")
#endif
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define HAS_NVRTC
#else
#pragma message("skipped: nvrtc.h is not installed")
#endif

#include <cstddef>

// The real header defines these as macros, the fake declares them.
constexpr unsigned real_version = CUDART_VERSION, real_non_blocking = cudaStreamNonBlocking,
                   real_event_default = cudaEventDefault, real_disable_timing = cudaEventDisableTiming;
#undef CUDART_VERSION
#undef cudaStreamNonBlocking
#undef cudaEventDefault
#undef cudaEventDisableTiming
namespace fake {
#include "fake/cuda_runtime.h"
}
static_assert(CUDART_VERSION / 1000 == real_version / 1000);
static_assert(fake::cudaStreamNonBlocking == real_non_blocking && fake::cudaEventDefault == real_event_default &&
              fake::cudaEventDisableTiming == real_disable_timing);

namespace {

using namespace etude::cuda;

// ---- CUDA: the fake has its numbers, and the driver's errors are the runtime's ----

#define SAME_AS_FAKE(name) static_assert(static_cast<int>(fake::name) == static_cast<int>(::name))
SAME_AS_FAKE(cudaSuccess);
SAME_AS_FAKE(cudaErrorInsufficientDriver);
SAME_AS_FAKE(cudaErrorNotReady);
SAME_AS_FAKE(cudaMemcpyHostToDevice);
SAME_AS_FAKE(cudaMemcpyDeviceToHost);
SAME_AS_FAKE(cudaMemcpyDeviceToDevice);
SAME_AS_FAKE(cudaDevAttrMemoryPoolsSupported);
SAME_AS_FAKE(cudaMemAllocationTypePinned);
SAME_AS_FAKE(cudaMemHandleTypeNone);
SAME_AS_FAKE(cudaMemLocationTypeDevice);
SAME_AS_FAKE(cudaMemAccessFlagsProtReadWrite);
SAME_AS_FAKE(cudaMemPoolAttrReleaseThreshold);
SAME_AS_FAKE(cudaMemPoolAttrReservedMemCurrent);
SAME_AS_FAKE(cudaMemPoolAttrUsedMemCurrent);
SAME_AS_FAKE(cudaStreamCaptureModeGlobal);
SAME_AS_FAKE(cudaStreamCaptureModeThreadLocal);

#define SAME_ERROR(runtime, driver) \
  SAME_AS_FAKE(runtime);            \
  static_assert(static_cast<int>(::runtime) == static_cast<int>(driver))
SAME_ERROR(cudaErrorInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME_ERROR(cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY);
SAME_ERROR(cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE);
SAME_ERROR(cudaErrorInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME_ERROR(cudaErrorECCUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME_ERROR(cudaErrorNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME_ERROR(cudaErrorInvalidResourceHandle, CUDA_ERROR_INVALID_HANDLE);
SAME_ERROR(cudaErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME_ERROR(cudaErrorLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME_ERROR(cudaErrorAssert, CUDA_ERROR_ASSERT);
SAME_ERROR(cudaErrorHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME_ERROR(cudaErrorIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME_ERROR(cudaErrorMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME_ERROR(cudaErrorInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME_ERROR(cudaErrorInvalidPc, CUDA_ERROR_INVALID_PC);
SAME_ERROR(cudaErrorLaunchFailure, CUDA_ERROR_LAUNCH_FAILED);
SAME_ERROR(cudaErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME_ERROR(cudaErrorStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME_ERROR(cudaErrorStreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

static_assert(sizeof(CUresult) == sizeof(int) && sizeof(::cudaError_t) == sizeof(int));

/// Whether the library's function can be called as in Étude: the same number of arguments, each of the same size.
template <class Real, class Own> constexpr bool same_call = false;
template <class RealResult, class... Real, class OwnResult, class... Own>
  requires(sizeof...(Real) == sizeof...(Own))
constexpr bool same_call<RealResult (*)(Real...), OwnResult (*)(Own...)> =
    sizeof(RealResult) == sizeof(OwnResult) && (true && ... && (sizeof(Real) == sizeof(Own)));

static_assert(same_call<decltype(&cuDriverGetVersion), decltype(Driver::version)>);
static_assert(same_call<decltype(&cuModuleLoadData), decltype(Driver::load)>);
static_assert(same_call<decltype(&cuModuleUnload), decltype(Driver::unload)>);
static_assert(same_call<decltype(&cuModuleGetFunction), decltype(Driver::find)>);
static_assert(same_call<decltype(&cuLaunchKernel), decltype(Driver::launch)>);

namespace lt = vendor::cublas_lt;
static_assert(lt::real_float32 == CUDA_R_32F && lt::real_float64 == CUDA_R_64F && lt::real_float16 == CUDA_R_16F &&
              lt::real_bfloat16 == CUDA_R_16BF);

// ---- cuBLASLt ----

#ifdef HAS_CUBLASLT

static_assert(CUBLAS_STATUS_SUCCESS == 0 && lt::no_memory == CUBLAS_STATUS_ALLOC_FAILED);
static_assert(lt::invalid_value == CUBLAS_STATUS_INVALID_VALUE);
static_assert(lt::wrong_architecture == CUBLAS_STATUS_ARCH_MISMATCH);
static_assert(lt::failed_on_gpu == CUBLAS_STATUS_EXECUTION_FAILED);
static_assert(lt::not_supported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(lt::compute_float32 == CUBLAS_COMPUTE_32F && lt::compute_float64 == CUBLAS_COMPUTE_64F &&
              lt::compute_tf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(lt::transpose == CUBLAS_OP_T && sizeof lt::transpose == sizeof(cublasOperation_t));
static_assert(lt::description_transposes_a == CUBLASLT_MATMUL_DESC_TRANSA &&
              lt::description_transposes_b == CUBLASLT_MATMUL_DESC_TRANSB &&
              lt::description_epilogue == CUBLASLT_MATMUL_DESC_EPILOGUE &&
              lt::description_bias == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(lt::epilogue_bias == CUBLASLT_EPILOGUE_BIAS && sizeof lt::epilogue_bias == sizeof(cublasLtEpilogue_t));
static_assert(lt::layout_batch_count == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT &&
              lt::layout_batch_stride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(lt::reduction_in_compute_type == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(lt::preference_workspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
              lt::preference_reductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
              lt::preference_alignment_a == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              lt::preference_alignment_b == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES &&
              lt::preference_alignment_c == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES &&
              lt::preference_alignment_d == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

using Found = CublasLt::Found;
using RealFound = cublasLtMatmulHeuristicResult_t;
static_assert(sizeof(CublasLt::Algorithm) == sizeof(cublasLtMatmulAlgo_t) && sizeof(Found) == sizeof(RealFound));
static_assert(offsetof(Found, algorithm) == offsetof(RealFound, algo) &&
              offsetof(Found, workspace_bytes) == offsetof(RealFound, workspaceSize) &&
              offsetof(Found, state) == offsetof(RealFound, state) &&
              offsetof(Found, waves) == offsetof(RealFound, wavesCount) &&
              offsetof(Found, reserved) == offsetof(RealFound, reserved));

using F = CublasLt::Functions;
static_assert(same_call<decltype(&cublasLtCreate), decltype(F::create)>);
static_assert(same_call<decltype(&cublasLtDestroy), decltype(F::destroy)>);
static_assert(same_call<decltype(&cublasLtMatmulDescCreate), decltype(F::create_description)>);
static_assert(same_call<decltype(&cublasLtMatmulDescDestroy), decltype(F::destroy_description)>);
static_assert(same_call<decltype(&cublasLtMatmulDescSetAttribute), decltype(F::set_of_description)>);
static_assert(same_call<decltype(&cublasLtMatrixLayoutCreate), decltype(F::create_layout)>);
static_assert(same_call<decltype(&cublasLtMatrixLayoutDestroy), decltype(F::destroy_layout)>);
static_assert(same_call<decltype(&cublasLtMatrixLayoutSetAttribute), decltype(F::set_of_layout)>);
static_assert(same_call<decltype(&cublasLtMatmulPreferenceCreate), decltype(F::create_preference)>);
static_assert(same_call<decltype(&cublasLtMatmulPreferenceDestroy), decltype(F::destroy_preference)>);
static_assert(same_call<decltype(&cublasLtMatmulPreferenceSetAttribute), decltype(F::set_of_preference)>);
static_assert(same_call<decltype(&cublasLtMatmulAlgoGetHeuristic), decltype(F::find)>);
static_assert(same_call<decltype(&cublasLtMatmulAlgoCheck), decltype(F::check)>);
static_assert(same_call<decltype(&cublasLtMatmul), decltype(F::multiply)>);
static_assert(same_call<decltype(&cublasLtGetVersion), decltype(F::version)>);

#endif

// ---- cuDNN ----

#ifdef HAS_CUDNN

namespace dnn = vendor::cudnn;
static_assert(CUDNN_MAJOR == 9 && CUDNN_STATUS_SUCCESS == 0);
static_assert(dnn::no_host_memory == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED &&
              dnn::no_device_memory == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
static_assert(dnn::type_float32 == CUDNN_DATA_FLOAT && dnn::type_float16 == CUDNN_DATA_HALF &&
              dnn::type_bfloat16 == CUDNN_DATA_BFLOAT16);
static_assert(dnn::channels_last == CUDNN_TENSOR_NHWC && dnn::cross_correlation == CUDNN_CROSS_CORRELATION);
static_assert(dnn::math_by_tensor_cores == CUDNN_TENSOR_OP_MATH && dnn::math_as_stored == CUDNN_FMA_MATH);
static_assert(dnn::forward_algorithms[0] == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM &&
              dnn::forward_algorithms[1] == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM &&
              dnn::forward_algorithms[2] == CUDNN_CONVOLUTION_FWD_ALGO_GEMM);
static_assert(dnn::input_algorithms[0] == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 &&
              dnn::filter_algorithms[0] == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1);

using D = Cudnn::Functions;
static_assert(same_call<decltype(&cudnnCreate), decltype(D::create)>);
static_assert(same_call<decltype(&cudnnDestroy), decltype(D::destroy)>);
static_assert(same_call<decltype(&cudnnSetStream), decltype(D::set_stream)>);
static_assert(same_call<decltype(&cudnnCreateTensorDescriptor), decltype(D::create_tensor)>);
static_assert(same_call<decltype(&cudnnDestroyTensorDescriptor), decltype(D::destroy_tensor)>);
static_assert(same_call<decltype(&cudnnSetTensor4dDescriptor), decltype(D::set_tensor)>);
static_assert(same_call<decltype(&cudnnCreateFilterDescriptor), decltype(D::create_filter)>);
static_assert(same_call<decltype(&cudnnDestroyFilterDescriptor), decltype(D::destroy_filter)>);
static_assert(same_call<decltype(&cudnnSetFilter4dDescriptor), decltype(D::set_filter)>);
static_assert(same_call<decltype(&cudnnCreateConvolutionDescriptor), decltype(D::create_convolution)>);
static_assert(same_call<decltype(&cudnnDestroyConvolutionDescriptor), decltype(D::destroy_convolution)>);
static_assert(same_call<decltype(&cudnnSetConvolution2dDescriptor), decltype(D::set_convolution)>);
static_assert(same_call<decltype(&cudnnSetConvolutionGroupCount), decltype(D::set_groups)>);
static_assert(same_call<decltype(&cudnnSetConvolutionMathType), decltype(D::set_math)>);
static_assert(same_call<decltype(&cudnnGetConvolutionForwardWorkspaceSize), decltype(D::forward_workspace)>);
static_assert(same_call<decltype(&cudnnConvolutionForward), decltype(D::forward)>);
static_assert(same_call<decltype(&cudnnGetConvolutionBackwardDataWorkspaceSize), decltype(D::input_workspace)>);
static_assert(same_call<decltype(&cudnnConvolutionBackwardData), decltype(D::input)>);
static_assert(same_call<decltype(&cudnnGetConvolutionBackwardFilterWorkspaceSize), decltype(D::filter_workspace)>);
static_assert(same_call<decltype(&cudnnConvolutionBackwardFilter), decltype(D::filter)>);
static_assert(same_call<decltype(&cudnnGetVersion), decltype(D::version)>);

#endif

// ---- NCCL ----

#ifdef HAS_NCCL

namespace nc = vendor::nccl;
static_assert(ncclSuccess == 0);
static_assert(nc::type_int32 == ncclInt32 && nc::type_float16 == ncclFloat16 && nc::type_float32 == ncclFloat32 &&
              nc::type_float64 == ncclFloat64 && nc::type_bfloat16 == ncclBfloat16 && nc::op_sum == ncclSum);

using N = Nccl::Functions;
static_assert(same_call<decltype(&ncclCommInitAll), decltype(N::create_all)>);
static_assert(same_call<decltype(&ncclCommDestroy), decltype(N::destroy)>);
static_assert(same_call<decltype(&ncclCommAbort), decltype(N::abort)>);
static_assert(same_call<decltype(&ncclGroupStart), decltype(N::begin_group)>);
static_assert(same_call<decltype(&ncclGroupEnd), decltype(N::end_group)>);
static_assert(same_call<decltype(&ncclAllReduce), decltype(N::all_reduce)>);
static_assert(same_call<decltype(&ncclGetErrorString), decltype(N::text)>);

using W = NcclWorkers;
static_assert(sizeof(W::UniqueId) == sizeof(ncclUniqueId) && sizeof(ncclResult_t) == sizeof(W::Status));
static_assert(offsetof(W::Config, size) == offsetof(ncclConfig_t, size) &&
              offsetof(W::Config, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(W::Config, version) == offsetof(ncclConfig_t, version) &&
              offsetof(W::Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(nc::config_version == NCCL_VERSION(2, 14, 0) && nc::in_progress == ncclInProgress &&
              nc::remote_error == ncclRemoteError && nc::safe_version == NCCL_VERSION(2, 19, 0));
constexpr ncclConfig_t real_config = NCCL_CONFIG_INITIALIZER;
static_assert(real_config.magic == nc::config_magic);
using Across = W::Functions;
static_assert(same_call<decltype(&ncclGetVersion), decltype(Across::version)>);
static_assert(same_call<decltype(&ncclGetUniqueId), decltype(Across::make_id)>);
static_assert(same_call<decltype(&ncclCommInitRankConfig), decltype(Across::create)>);
static_assert(same_call<decltype(&ncclCommGetAsyncError), decltype(Across::state)>);
static_assert(same_call<decltype(&ncclCommFinalize), decltype(Across::finalize)>);

#endif

// ---- NVRTC ----

#ifdef HAS_NVRTC
static_assert(NVRTC_SUCCESS == 0 && vendor::nvrtc::invalid_option == NVRTC_ERROR_INVALID_OPTION);
static_assert(sizeof(nvrtcResult) == sizeof(int));
#endif

}  // namespace

#endif  // ETUDE_REAL_HEADERS
