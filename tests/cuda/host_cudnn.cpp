#include "host_cudnn.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <set>

#include "host_cudnn_runtime.hpp"
#include "runtime_under_test.hpp"

namespace etude::testing::host_cudnn {
namespace {

using cuda::ConvolutionPass;
using cuda::Cudnn;

// Source: cudnn_graph.h and cudnn_ops.h.
constexpr int bad_parameter = 2000, unsupported = 3000;

struct Stream {
  CUstream_st* stream = nullptr;
};
/// An image tensor or a filter: its extents in the order of memory, which is channels last.
struct Laid {
  int type = -1;
  std::array<int, 4> extents{};
};
struct Slides {
  int pad_y = 0, pad_x = 0, stride_y = 0, stride_x = 0, dilation_y = 0, dilation_x = 0;
  int groups = 1, math = 0;
};

Library fake;
std::set<void*> objects;

template <class Of, class Pointer> Of& as(Pointer pointer) {
  REQUIRE(objects.contains(pointer));
  return *reinterpret_cast<Of*>(pointer);
}
template <class Of, class Pointer> int made(Pointer* pointer) {
  auto* object = new Of;
  *pointer = reinterpret_cast<Pointer>(object);
  objects.insert(object);
  return 0;
}
template <class Of, class Pointer> int destroyed(Pointer pointer) {
  delete &as<Of>(pointer);
  objects.erase(pointer);
  return 0;
}

int set_extents(Laid& laid, int type, int format, std::array<int, 4> extents) {
  CHECK(format == 1);
  laid = {type, extents};
  return std::ranges::all_of(extents, [](int extent) { return extent > 0; }) ? 0 : bad_parameter;
}

/// The operands of a convolution, whose extents fit together.
struct Described {
  Laid x, kernel, y;
  Slides slides;

  Described(Cudnn::Tensor x_, Cudnn::Filter kernel_, Cudnn::Convolution convolution, Cudnn::Tensor y_)
      : x(as<Laid>(x_)), kernel(as<Laid>(kernel_)), y(as<Laid>(y_)), slides(as<Slides>(convolution)) {
    CHECK((x.type == kernel.type && y.type == kernel.type));
    CHECK(x.extents[0] == y.extents[0]);
    CHECK(y.extents[3] == kernel.extents[0]);
    CHECK(x.extents[3] == kernel.extents[3] * slides.groups);
    CHECK(kernel.extents[0] % slides.groups == 0);
    CHECK(y.extents[1] == outputs(x.extents[1], slides.pad_y, kernel.extents[1], slides.dilation_y, slides.stride_y));
    CHECK(y.extents[2] == outputs(x.extents[2], slides.pad_x, kernel.extents[2], slides.dilation_x, slides.stride_x));
  }
  static int outputs(int in, int pad, int extent, int dilation, int stride) {
    return (in + 2 * pad - (extent - 1) * dilation - 1) / stride + 1;
  }

  /// Calls body(x's element, the kernel's, y's) for each product of the convolution.
  template <class Body> void each(Body body) const {
    const auto [batch, rows, columns, filters] = y.extents;
    const int group_filters = filters / slides.groups, group_channels = kernel.extents[3];
    for (int image = 0; image < batch; ++image)
      for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column)
          for (int filter = 0; filter < filters; ++filter)
            for (int i = 0; i < kernel.extents[1]; ++i)
              for (int j = 0; j < kernel.extents[2]; ++j) {
                const int down = row * slides.stride_y - slides.pad_y + i * slides.dilation_y,
                          across = column * slides.stride_x - slides.pad_x + j * slides.dilation_x;
                if (down < 0 || down >= x.extents[1] || across < 0 || across >= x.extents[2]) continue;
                for (int channel = 0; channel < group_channels; ++channel)
                  body(at(x, {image, down, across, filter / group_filters * group_channels + channel}),
                       at(kernel, {filter, i, j, channel}), at(y, {image, row, column, filter}));
              }
  }
  static std::size_t at(const Laid& laid, std::array<int, 4> index) {
    std::size_t element = 0;
    for (std::size_t axis = 0; axis < 4; ++axis)
      element = element * static_cast<std::size_t>(laid.extents[axis]) + static_cast<std::size_t>(index[axis]);
    return element;
  }
  static std::size_t size(const Laid& laid) {
    std::size_t product = 1;
    for (const int extent : laid.extents) product *= static_cast<std::size_t>(extent);
    return product;
  }

  template <class T> void compute(ConvolutionPass pass, const void* x_, const void* kernel_, const void* y_) const {
    const auto numbers = [](const void* data) { return static_cast<T*>(const_cast<void*>(data)); };
    T *xs = numbers(x_), *kernels = numbers(kernel_), *ys = numbers(y_);
    const bool forward = pass == ConvolutionPass::forward, of_input = pass == ConvolutionPass::input;
    std::vector<double> sums(size(forward ? y : of_input ? x : kernel));
    const auto number = [](T of) { return static_cast<double>(of); };
    each([&](std::size_t of_x, std::size_t of_kernel, std::size_t of_y) {
      if (forward)
        sums[of_y] += number(xs[of_x]) * number(kernels[of_kernel]);
      else if (of_input)
        sums[of_x] += number(ys[of_y]) * number(kernels[of_kernel]);
      else
        sums[of_kernel] += number(xs[of_x]) * number(ys[of_y]);
    });
    T* out = forward ? ys : of_input ? xs : kernels;
    std::ranges::transform(sums, out, [](double sum) { return static_cast<T>(sum); });
  }
};

int workspace_of(const Described&, int algorithm, std::size_t* bytes) {
  *bytes = fake.workspace;
  return std::ranges::count(fake.unsupported, algorithm) ? unsupported : 0;
}

int convolve(Cudnn::Handle handle, ConvolutionPass pass, const Described& described, int algorithm, const void* alpha,
             const void* beta, const void* x, const void* kernel, const void* y, void* workspace, std::size_t bytes) {
  CHECK(*static_cast<const float*>(alpha) == 1.f);
  CHECK(*static_cast<const float*>(beta) == 0.f);
  CHECK(std::ranges::count(fake.unsupported, algorithm) == 0);
  CHECK(bytes >= fake.workspace);
  CHECK(reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0);
  for (const void* data : {x, kernel, y}) CHECK(reinterpret_cast<std::uintptr_t>(data) % 16 == 0);
  if (fake.status != 0) return fake.status;
  fake.computed.push_back({pass, algorithm});
  fake.maths.push_back(described.slides.math);
  fake.all_milliseconds += fake.milliseconds;
  const auto work = [=, needed = fake.workspace] {
    std::memset(workspace, 0xff, needed);  // NaN where anything else was
    if (described.x.type == 0) described.compute<float>(pass, x, kernel, y);
    if (described.x.type == 2) described.compute<Float16>(pass, x, kernel, y);
    if (described.x.type == 9) described.compute<BFloat16>(pass, x, kernel, y);
  };
  CUstream_st* const stream = as<Stream>(handle).stream;
  if (!stream) return work(), 0;
  int status = fake.queue(stream, work);
  for (int more = 1; status == 0 && more < fake.milliseconds; ++more) status = fake.queue(stream, [] {});
  return status;
}

const Cudnn::Functions on_host{
    .create = [](Cudnn::Handle* handle) { return fake.knows_gpu ? made<Stream>(handle) : unsupported; },
    .destroy = [](Cudnn::Handle handle) { return destroyed<Stream>(handle); },
    .set_stream =
        [](Cudnn::Handle handle, CUstream_st* stream) {
          as<Stream>(handle).stream = stream;
          return 0;
        },
    .create_tensor = [](Cudnn::Tensor* tensor) { return made<Laid>(tensor); },
    .destroy_tensor = [](Cudnn::Tensor tensor) { return destroyed<Laid>(tensor); },
    .set_tensor =
        [](Cudnn::Tensor tensor, int format, int type, int batch, int channels, int height, int width) {
          return set_extents(as<Laid>(tensor), type, format, {batch, height, width, channels});
        },
    .create_filter = [](Cudnn::Filter* filter) { return made<Laid>(filter); },
    .destroy_filter = [](Cudnn::Filter filter) { return destroyed<Laid>(filter); },
    .set_filter =
        [](Cudnn::Filter filter, int type, int format, int filters, int channels, int height, int width) {
          return set_extents(as<Laid>(filter), type, format, {filters, height, width, channels});
        },
    .create_convolution = [](Cudnn::Convolution* convolution) { return made<Slides>(convolution); },
    .destroy_convolution = [](Cudnn::Convolution convolution) { return destroyed<Slides>(convolution); },
    .set_convolution =
        [](Cudnn::Convolution convolution, int pad_y, int pad_x, int stride_y, int stride_x, int dilation_y,
           int dilation_x, int mode, int compute_type) {
          CHECK(mode == 1);
          CHECK(compute_type == 0);
          as<Slides>(convolution) = {pad_y, pad_x, stride_y, stride_x, dilation_y, dilation_x};
          return 0;
        },
    .set_groups =
        [](Cudnn::Convolution convolution, int groups) {
          as<Slides>(convolution).groups = groups;
          return 0;
        },
    .set_math =
        [](Cudnn::Convolution convolution, int math) {
          as<Slides>(convolution).math = math;
          return 0;
        },
    .forward_workspace = [](Cudnn::Handle, Cudnn::Tensor x, Cudnn::Filter kernel, Cudnn::Convolution convolution,
                            Cudnn::Tensor y, int algorithm,
                            std::size_t* bytes) { return workspace_of({x, kernel, convolution, y}, algorithm, bytes); },
    .forward =
        [](Cudnn::Handle handle, const void* alpha, Cudnn::Tensor x, const void* x_data, Cudnn::Filter kernel,
           const void* kernel_data, Cudnn::Convolution convolution, int algorithm, void* workspace, std::size_t bytes,
           const void* beta, Cudnn::Tensor y, void* y_data) {
          return convolve(handle, ConvolutionPass::forward, {x, kernel, convolution, y}, algorithm, alpha, beta, x_data,
                          kernel_data, y_data, workspace, bytes);
        },
    .input_workspace = [](Cudnn::Handle, Cudnn::Filter kernel, Cudnn::Tensor y, Cudnn::Convolution convolution,
                          Cudnn::Tensor x, int algorithm,
                          std::size_t* bytes) { return workspace_of({x, kernel, convolution, y}, algorithm, bytes); },
    .input =
        [](Cudnn::Handle handle, const void* alpha, Cudnn::Filter kernel, const void* kernel_data, Cudnn::Tensor y,
           const void* y_data, Cudnn::Convolution convolution, int algorithm, void* workspace, std::size_t bytes,
           const void* beta, Cudnn::Tensor x, void* x_data) {
          return convolve(handle, ConvolutionPass::input, {x, kernel, convolution, y}, algorithm, alpha, beta, x_data,
                          kernel_data, y_data, workspace, bytes);
        },
    .filter_workspace = [](Cudnn::Handle, Cudnn::Tensor x, Cudnn::Tensor y, Cudnn::Convolution convolution,
                           Cudnn::Filter kernel, int algorithm,
                           std::size_t* bytes) { return workspace_of({x, kernel, convolution, y}, algorithm, bytes); },
    .filter =
        [](Cudnn::Handle handle, const void* alpha, Cudnn::Tensor x, const void* x_data, Cudnn::Tensor y,
           const void* y_data, Cudnn::Convolution convolution, int algorithm, void* workspace, std::size_t bytes,
           const void* beta, Cudnn::Filter kernel, void* kernel_data) {
          return convolve(handle, ConvolutionPass::filter, {x, kernel, convolution, y}, algorithm, alpha, beta, x_data,
                          kernel_data, y_data, workspace, bytes);
        },
    .version = [] { return std::size_t{90000}; }};

}  // namespace

const Cudnn::Functions& functions() { return on_host; }
Library& library() { return fake; }
std::size_t alive() { return objects.size(); }

}  // namespace etude::testing::host_cudnn

namespace etude::testing {

std::unique_ptr<cuda::Runtime> convolving_runtime_under_test() {
  return std::make_unique<CudnnRuntime>(std::make_shared<cuda::Choices>("host"));
}

}  // namespace etude::testing
