#include "cuda/cudnn.hpp"

#include <span>
#include <utility>

#include "cuda/vendor_numbers.hpp"
#include "etude/base/error.hpp"

namespace etude::cuda {
namespace {

namespace number = vendor::cudnn;
using instruction::ConvolutionShape;

constexpr std::size_t used_workspace = Cudnn::workspace_bytes - 256;

int type_of(DType dtype) {
  return dtype == DType::float16    ? number::type_float16
         : dtype == DType::bfloat16 ? number::type_bfloat16
                                    : number::type_float32;
}

/// The algorithms that are deterministic and transform no patches.
std::span<const int> algorithms_of(ConvolutionPass pass) {
  return pass == ConvolutionPass::forward ? std::span<const int>(number::forward_algorithms)
         : pass == ConvolutionPass::input ? std::span<const int>(number::input_algorithms)
                                          : std::span<const int>(number::filter_algorithms);
}

int narrow(std::int64_t extent) { return static_cast<int>(extent); }

}  // namespace

Cudnn::Functions Cudnn::Functions::of(const SharedLibrary& library) {
  Functions f;
  library.find(f.create, "cudnnCreate");
  library.find(f.destroy, "cudnnDestroy");
  library.find(f.set_stream, "cudnnSetStream");
  library.find(f.create_tensor, "cudnnCreateTensorDescriptor");
  library.find(f.destroy_tensor, "cudnnDestroyTensorDescriptor");
  library.find(f.set_tensor, "cudnnSetTensor4dDescriptor");
  library.find(f.create_filter, "cudnnCreateFilterDescriptor");
  library.find(f.destroy_filter, "cudnnDestroyFilterDescriptor");
  library.find(f.set_filter, "cudnnSetFilter4dDescriptor");
  library.find(f.create_convolution, "cudnnCreateConvolutionDescriptor");
  library.find(f.destroy_convolution, "cudnnDestroyConvolutionDescriptor");
  library.find(f.set_convolution, "cudnnSetConvolution2dDescriptor");
  library.find(f.set_groups, "cudnnSetConvolutionGroupCount");
  library.find(f.set_math, "cudnnSetConvolutionMathType");
  library.find(f.forward_workspace, "cudnnGetConvolutionForwardWorkspaceSize");
  library.find(f.forward, "cudnnConvolutionForward");
  library.find(f.input_workspace, "cudnnGetConvolutionBackwardDataWorkspaceSize");
  library.find(f.input, "cudnnConvolutionBackwardData");
  library.find(f.filter_workspace, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  library.find(f.filter, "cudnnConvolutionBackwardFilter");
  library.find(f.version, "cudnnGetVersion");
  return f;
}

Cudnn::Cudnn(const Functions& functions, bool tf32, CUstream_st* stream, Explain explain)
    : functions_(functions), tf32_(tf32), stream_(stream), explain_(std::move(explain)) {}

Cudnn::~Cudnn() {
  plans_.clear();
  if (handle_) functions_.destroy(handle_);
}

bool Cudnn::succeeded(Status status, const char* what) const {
  if (status == 0) [[likely]]
    return true;
  const bool no_memory = status == number::no_host_memory || status == number::no_device_memory;
  if (explain_) explain_(what, no_memory);
  check(!no_memory, ErrorKind::state, "Cuda", what,
        " failed: cuDNN found no memory - expected free memory - pass smaller batches or a smaller model.");
  return false;
}

bool Cudnn::opened() {
  if (handle_ || !usable_) return usable_;
  Handle handle = nullptr;
  usable_ = succeeded(functions_.create(&handle), "opening cuDNN");
  if (!usable_) return false;
  usable_ = succeeded(functions_.set_stream(handle, stream_), "giving cuDNN a stream");
  if (usable_)
    handle_ = handle;
  else
    functions_.destroy(handle);
  return usable_;
}

Cudnn::Kind Cudnn::kind_of(const VendorConvolution& c) {
  const ConvolutionShape& s = c.shape;
  const Window& w = s.window;
  return {static_cast<std::int64_t>(c.pass),
          static_cast<std::int64_t>(c.dtype),
          s.batch,
          s.height,
          s.width,
          s.channels,
          s.rows,
          s.columns,
          s.filters,
          s.groups,
          w.extent[0],
          w.extent[1],
          w.strides[0],
          w.strides[1],
          w.dilation[0],
          w.dilation[1],
          w.before[0],
          w.before[1]};
}

Cudnn::Plan Cudnn::describe(const VendorConvolution& c) const {
  constexpr const char* what = "describing a convolution";
  const auto made = [&]<class T>(Status (*create)(T*), Status (*destroy)(T)) {
    T object = nullptr;
    check(succeeded(create(&object), what), ErrorKind::internal, "Cuda", what,
          " failed - expected success of cuDNN - see its log (CUDNN_LOGLEVEL_DBG=1).");
    return Owned<T>(object, destroy);
  };
  Owned<Tensor> x = made(functions_.create_tensor, functions_.destroy_tensor),
                y = made(functions_.create_tensor, functions_.destroy_tensor);
  Owned<Filter> kernel = made(functions_.create_filter, functions_.destroy_filter);
  Plan plan{std::move(x), std::move(y), std::move(kernel),
            made(functions_.create_convolution, functions_.destroy_convolution)};
  if (!accepts(c, plan)) return plan;
  for (const int algorithm : algorithms_of(c.pass)) {
    std::size_t bytes = 0;
    if (succeeded(workspace_of(c.pass, plan, algorithm, bytes), "reading the workspace of a convolution") &&
        bytes <= used_workspace)
      plan.algorithms.push_back(algorithm);
  }
  return plan;
}

bool Cudnn::accepts(const VendorConvolution& c, const Plan& plan) const {
  const ConvolutionShape& s = c.shape;
  const Window& w = s.window;
  const int type = type_of(c.dtype);
  const int math = c.dtype == DType::float32 && !tf32_ ? number::math_as_stored : number::math_by_tensor_cores;
  const auto accepted = [&](Status status) { return succeeded(status, "describing a convolution"); };
  return accepted(functions_.set_tensor(plan.x.get(), number::channels_last, type, narrow(s.batch), narrow(s.channels),
                                        narrow(s.height), narrow(s.width))) &&
         accepted(functions_.set_tensor(plan.y.get(), number::channels_last, type, narrow(s.batch), narrow(s.filters),
                                        narrow(s.rows), narrow(s.columns))) &&
         accepted(functions_.set_filter(plan.kernel.get(), type, number::channels_last, narrow(s.filters),
                                        narrow(s.channels / s.groups), narrow(w.extent[0]), narrow(w.extent[1]))) &&
         accepted(functions_.set_convolution(plan.convolution.get(), narrow(w.before[0]), narrow(w.before[1]),
                                             narrow(w.strides[0]), narrow(w.strides[1]), narrow(w.dilation[0]),
                                             narrow(w.dilation[1]), number::cross_correlation, number::type_float32)) &&
         accepted(functions_.set_groups(plan.convolution.get(), narrow(s.groups))) &&
         accepted(functions_.set_math(plan.convolution.get(), math));
}

Cudnn::Status Cudnn::workspace_of(ConvolutionPass pass, const Plan& plan, int algorithm, std::size_t& bytes) const {
  const Tensor x = plan.x.get(), y = plan.y.get();
  const Filter kernel = plan.kernel.get();
  const Convolution convolution = plan.convolution.get();
  switch (pass) {
    case ConvolutionPass::forward:
      return functions_.forward_workspace(handle_, x, kernel, convolution, y, algorithm, &bytes);
    case ConvolutionPass::input:
      return functions_.input_workspace(handle_, kernel, y, convolution, x, algorithm, &bytes);
    default: return functions_.filter_workspace(handle_, x, y, convolution, kernel, algorithm, &bytes);
  }
}

const Cudnn::Plan& Cudnn::plan_of(const VendorConvolution& convolution) {
  const Kind kind = kind_of(convolution);
  const auto known = plans_.find(kind);
  return known != plans_.end() ? known->second : plans_.emplace(kind, describe(convolution)).first->second;
}

std::vector<int> Cudnn::algorithms(const VendorConvolution& convolution) {
  return opened() ? plan_of(convolution).algorithms : std::vector<int>();
}

std::vector<int> Cudnn::known_algorithms(const VendorConvolution& convolution) const {
  const auto known = plans_.find(kind_of(convolution));
  return known != plans_.end() ? known->second.algorithms : std::vector<int>();
}

bool Cudnn::convolve(const VendorConvolution& c, int algorithm) {
  if (!opened()) return false;
  const Plan& plan = plan_of(c);
  const Tensor x = plan.x.get(), y = plan.y.get();
  const Filter kernel = plan.kernel.get();
  const Convolution convolution = plan.convolution.get();
  void* const aligned = c.workspace + (~reinterpret_cast<std::uintptr_t>(c.workspace) + 1) % 256;
  const float one = 1, zero = 0;
  Status status = 0;
  switch (c.pass) {
    case ConvolutionPass::forward:
      status = functions_.forward(handle_, &one, x, c.x, kernel, c.kernel, convolution, algorithm, aligned,
                                  used_workspace, &zero, y, c.y);
      break;
    case ConvolutionPass::input:
      status = functions_.input(handle_, &one, kernel, c.kernel, y, c.y, convolution, algorithm, aligned,
                                used_workspace, &zero, x, c.x);
      break;
    case ConvolutionPass::filter:
      status = functions_.filter(handle_, &one, x, c.x, y, c.y, convolution, algorithm, aligned, used_workspace, &zero,
                                 kernel, c.kernel);
      break;
  }
  return succeeded(status, name_of(c.pass));
}

}  // namespace etude::cuda
