#include "etude/kernels/cpu/convolution_kernels.hpp"

#include <limits>
#include <new>

#include "etude/base/detail/checked.hpp"
#include "etude/kernels/cpu/convolution_cost.hpp"
#include "etude/kernels/cpu/cpu.hpp"
#include "etude/kernels/cpu/launch.hpp"
#include "etude/kernels/cpu/program_runner.hpp"

namespace etude {

using cpu::at;
using cpu::ConvolutionArguments;
using cpu::ForwardMethod;
using cpu::GradientMethod;
using instruction::Convolution;
using instruction::ConvolutionFilter;
using instruction::ConvolutionInput;
using instruction::ConvolutionShape;
using instruction::Pooling;

namespace {

template <class T> ConvolutionArguments<T> shape_arguments(const ConvolutionShape& s,
                                                           const std::optional<Pooling>& pooling) {
  const auto index = [](std::int64_t value) { return static_cast<std::ptrdiff_t>(value); };
  ConvolutionArguments<T> a{};
  a.batch = index(s.batch);
  a.height = index(s.height);
  a.width = index(s.width);
  a.channels = index(s.channels);
  a.rows = index(s.rows);
  a.columns = index(s.columns);
  a.filters = index(s.filters);
  a.groups = index(s.groups);
  a.kernel_height = index(s.window.extent[0]);
  a.kernel_width = index(s.window.extent[1]);
  a.stride_y = index(s.window.strides[0]);
  a.stride_x = index(s.window.strides[1]);
  a.dilation_y = index(s.window.dilation[0]);
  a.dilation_x = index(s.window.dilation[1]);
  a.before_y = index(s.window.before[0]);
  a.before_x = index(s.window.before[1]);
  if (pooling) {
    a.pooled = true;
    a.pooled_rows = index(pooling->rows);
    a.pooled_columns = index(pooling->columns);
    a.pool_height = index(pooling->window.extent[0]);
    a.pool_width = index(pooling->window.extent[1]);
    a.pool_stride_y = index(pooling->window.strides[0]);
    a.pool_stride_x = index(pooling->window.strides[1]);
    a.pool_before_y = index(pooling->window.before[0]);
    a.pool_before_x = index(pooling->window.before[1]);
  }
  return a;
}

ForwardMethod method_of(const Convolution& i, cpu::TileShape tile) {
  return cpu::cheapest<ForwardMethod>(cpu::forward_costs(i.shape, i.pooling, tile));
}
GradientMethod method_of(const ConvolutionInput& i, cpu::TileShape tile) {
  return cpu::cheapest<GradientMethod>(cpu::input_gradient_costs(i.shape, i.pooling, tile));
}
GradientMethod method_of(const ConvolutionFilter& i, cpu::TileShape tile) {
  return cpu::cheapest<GradientMethod>(cpu::filter_gradient_costs(i.shape, i.pooling, tile));
}

template <class T> void set_method(ConvolutionArguments<T>& a, ForwardMethod method) { a.forward = method; }
template <class T> void set_method(ConvolutionArguments<T>& a, GradientMethod method) { a.gradient = method; }

template <class T, class I> ConvolutionArguments<T> arguments_of(const I& instruction, cpu::TileShape tile) {
  ConvolutionArguments<T> a = shape_arguments<T>(instruction.shape, instruction.pooling);
  set_method(a, method_of(instruction, tile));
  return a;
}

/// The kernel of an instruction, and the function that computes its workspace.
template <class T> auto kernel_of(const cpu::FloatKernels<T>& kernels, const Convolution&) {
  return std::pair{kernels.convolve, kernels.convolve_workspace};
}
template <class T> auto kernel_of(const cpu::FloatKernels<T>& kernels, const ConvolutionInput&) {
  return std::pair{kernels.convolve_input, kernels.convolve_input_workspace};
}
template <class T> auto kernel_of(const cpu::FloatKernels<T>& kernels, const ConvolutionFilter&) {
  return std::pair{kernels.convolve_filter, kernels.convolve_filter_workspace};
}

cpu::TileShape tile_of(const cpu::Kernels& kernels, DType dtype) {
  return dtype == DType::float64 ? kernels.float64.tile : kernels.float32.tile;
}

std::string_view name_of(ForwardMethod method) {
  switch (method) {
    case ForwardMethod::in_registers: return "in registers";
    case ForwardMethod::implicit_gemm: return "implicit GEMM";
    case ForwardMethod::winograd: return "Winograd";
    default: return "depthwise";
  }
}
std::string_view name_of(GradientMethod method) {
  switch (method) {
    case GradientMethod::sparse: return "sparse product";
    case GradientMethod::in_registers: return "in registers";
    case GradientMethod::dense: return "implicit GEMM";
    default: return "depthwise";
  }
}

/// Throws std::bad_alloc if an image with its padding, which a part of the work copies, has too many bytes for a
/// pointer of this machine: the kernels compute in its integers.
void check_padded_image(const ConvolutionShape& s, DType dtype) {
  std::int64_t bytes =
      checked::multiply_or_most(std::max(s.channels, s.filters), static_cast<std::int64_t>(size_of(dtype)));
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t extent = axis == 0 ? s.height : s.width, results = axis == 0 ? s.rows : s.columns;
    const std::int64_t reach = checked::multiply_or_most(s.window.extent[axis] - 1, s.window.dilation[axis]);
    const std::int64_t spread =
        checked::multiply_or_most(std::max<std::int64_t>(results - 1, 0), s.window.strides[axis]);
    bytes = checked::multiply_or_most(bytes, checked::add_or_most(std::max(extent, spread), reach));
  }
  if (bytes > std::numeric_limits<std::ptrdiff_t>::max()) throw std::bad_alloc();
}

template <class I> std::size_t workspace_of(const cpu::Kernels& kernels, const I& instruction) {
  check_padded_image(instruction.shape, instruction.out.dtype);
  std::size_t bytes = 0;
  cpu::with_float(instruction.out.dtype, [&]<class T>(T) {
    const auto& of_type = cpu::float_kernels<T>(kernels);
    const auto arguments = arguments_of<T>(instruction, of_type.tile);
    bytes = static_cast<std::size_t>(kernel_of(of_type, instruction).second(arguments, cpu::workers().count));
  });
  return bytes;
}

template <class I> void run_convolution(const cpu::Kernels& kernels, const I& instruction, Addresses addresses) {
  const std::int64_t columns =
      std::is_same_v<I, ConvolutionInput> ? instruction.shape.channels : instruction.shape.filters;
  cpu::Epilogue epilogue{kernels, instruction.epilogue ? &*instruction.epilogue : nullptr, columns, addresses};
  cpu::with_float(instruction.out.dtype, [&]<class T>(T) {
    const auto& of_type = cpu::float_kernels<T>(kernels);
    auto arguments = arguments_of<T>(instruction, of_type.tile);
    if constexpr (requires { instruction.x; }) arguments.x = at<const T>(addresses, instruction.x);
    if constexpr (requires { instruction.kernel; }) arguments.kernel = at<const T>(addresses, instruction.kernel);
    if constexpr (requires { instruction.dy; }) arguments.dy = at<const T>(addresses, instruction.dy);
    arguments.out = at<T>(addresses, instruction.out);
    arguments.index = at<std::uint8_t>(addresses, instruction.index);
    arguments.workspace = at<void>(addresses, instruction.workspace);
    epilogue.join(arguments);
    const auto kernel = kernel_of(of_type, instruction);
    const cpu::Workers all = cpu::workers_within(instruction.workspace_bytes, [&](int count) {
      return static_cast<std::size_t>(kernel.second(arguments, count));
    });
    kernel.first(arguments, all);
  });
}

}  // namespace

std::size_t Cpu::wanted_workspace(const Convolution& i) const { return workspace_of(kernels_, i); }
std::size_t Cpu::wanted_workspace(const ConvolutionInput& i) const { return workspace_of(kernels_, i); }
std::size_t Cpu::wanted_workspace(const ConvolutionFilter& i) const { return workspace_of(kernels_, i); }

bool Cpu::pools_alike(const Convolution& i) const {
  // Winograd rounds differently; the other methods sum the same terms in the same order.
  const auto by_winograd = [&](const std::optional<Pooling>& pooling) {
    const auto costs = cpu::forward_costs(i.shape, pooling, tile_of(kernels_, i.out.dtype));
    return cpu::cheapest<ForwardMethod>(costs) == ForwardMethod::winograd;
  };
  return by_winograd(i.pooling) == by_winograd({});
}

std::string_view Cpu::method(const Instruction& instruction) const {
  const auto name = [&](const auto& i) { return name_of(method_of(i, tile_of(kernels_, i.out.dtype))); };
  if (const auto* i = std::get_if<Convolution>(&instruction)) return name(*i);
  if (const auto* i = std::get_if<ConvolutionInput>(&instruction)) return name(*i);
  if (const auto* i = std::get_if<ConvolutionFilter>(&instruction)) return name(*i);
  return {};
}

void Cpu::compute(const Convolution& i, Addresses addresses) { run_convolution(kernels_, i, addresses); }
void Cpu::compute(const ConvolutionInput& i, Addresses addresses) { run_convolution(kernels_, i, addresses); }
void Cpu::compute(const ConvolutionFilter& i, Addresses addresses) { run_convolution(kernels_, i, addresses); }

}  // namespace etude
