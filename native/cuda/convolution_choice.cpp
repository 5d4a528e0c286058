#include "cuda/convolution_choice.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "cuda/chooser.hpp"
#include "cuda/cuda.hpp"
#include "cuda/launch.hpp"
#include "etude/base/error.hpp"

namespace etude::cuda {
namespace {

using instruction::ConvolutionShape;

/// The names of ways to compute a convolution: "ours", "cuDNN 1".
constexpr std::string_view our_way = "ours", vendor_way = "cuDNN ";

std::string kind_of(ConvolutionPass pass, const ConvolutionShape& s, DType dtype) {
  std::string kind = std::string(name_of(pass)) + ' ' + std::string(etude::name_of(dtype));
  const Window& w = s.window;
  for (const std::int64_t number :
       {s.batch, s.height, s.width, s.channels, s.rows, s.columns, s.filters, s.groups, w.extent[0], w.extent[1],
        w.strides[0], w.strides[1], w.dilation[0], w.dilation[1], w.before[0], w.before[1]})
    kind += ' ' + std::to_string(number);
  return kind;
}

/// Whether the vendor's convolutions are ways to choose from.
bool has_choice(const Runtime& runtime, const ConvolutionShape& shape, DType dtype) {
  return runtime.convolution_workspace() > 0 && vendor_may_convolve(shape, dtype);
}

/// The numbers of a kernel's filter.
std::int64_t taps_of(const ConvolutionShape& s) { return s.window.cells() * (s.channels / s.groups); }

std::size_t kernel_bytes(const ConvolutionShape& s, DType dtype) {
  constexpr std::size_t alignment = 256;
  const std::size_t bytes = static_cast<std::size_t>(taps_of(s) * s.filters) * size_of(dtype);
  return (bytes + alignment - 1) / alignment * alignment;
}

/// A convolution of the vendor's, whose kernel lies in the workspace in the vendor's order.
class ByVendor {
 public:
  ByVendor(Cuda& device, const ConvolutionOperands& operands, Addresses addresses)
      : device_(device), operands_(operands), addresses_(addresses) {
    std::byte* const workspace = at<std::byte>(addresses, operands.workspace);
    convolution_ = {.pass = operands.pass,
                    .shape = operands.shape,
                    .dtype = operands.kernel.dtype,
                    .x = at<std::byte>(addresses, operands.x),
                    .kernel = workspace,
                    .y = at<std::byte>(addresses, operands.y),
                    .workspace = workspace + kernel_bytes(operands.shape, operands.kernel.dtype)};
  }

  bool is_aligned() const {
    return std::ranges::all_of(
        std::initializer_list{convolution_.x, convolution_.kernel, convolution_.y},
        [](const std::byte* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; });
  }
  std::vector<std::string> ways() const {
    std::vector<std::string> names;
    for (const int algorithm : device_.runtime().convolution_algorithms(convolution_))
      names.push_back(std::string(vendor_way) + std::to_string(algorithm));
    return names;
  }
  bool run(std::string_view way) const {
    const std::int64_t taps = taps_of(operands_.shape), filters = operands_.shape.filters;
    const int algorithm = std::stoi(std::string(way.substr(vendor_way.size())));
    const Operand theirs{operands_.workspace.space, operands_.workspace.offset, operands_.kernel.dtype};
    const bool writes_kernel = operands_.pass == ConvolutionPass::filter;
    if (!writes_kernel)
      device_.run(instruction::Transpose{{filters, taps}, {1, filters}, operands_.kernel, theirs}, addresses_);
    if (!device_.runtime().convolve(convolution_, algorithm)) return false;
    if (writes_kernel)
      device_.run(instruction::Transpose{{taps, filters}, {1, taps}, theirs, operands_.kernel}, addresses_);
    return true;
  }

 private:
  Cuda& device_;
  const ConvolutionOperands& operands_;
  Addresses addresses_;
  VendorConvolution convolution_;
};

}  // namespace

std::size_t vendor_workspace(const Runtime& runtime, const ConvolutionShape& shape, DType dtype) {
  return has_choice(runtime, shape, dtype) ? kernel_bytes(shape, dtype) + runtime.convolution_workspace() : 0;
}

std::string_view vendor_method(Runtime& runtime, ConvolutionPass pass, const ConvolutionShape& shape, DType dtype) {
  Chooser* const chooser = runtime.chooser();
  if (!chooser || !has_choice(runtime, shape, dtype)) return "";
  const std::optional<std::string> known = chooser->known(kind_of(pass, shape, dtype));
  if (!known) return "cuDNN, if that is faster";
  return known->starts_with(vendor_way) ? "cuDNN" : "";
}

void convolve_fastest(Cuda& device, const ConvolutionOperands& operands, Addresses addresses,
                      const std::function<void()>& ours) {
  Runtime& runtime = device.runtime();
  const DType dtype = operands.kernel.dtype;
  Chooser* const chooser = runtime.chooser();
  if (!chooser || !has_choice(runtime, operands.shape, dtype)) return ours();
  const ByVendor vendor(device, operands, addresses);
  if (!vendor.is_aligned()) return ours();
  Chooser::Ways ways;
  ways.accepts = [&](const std::string& way) { return way == our_way || std::ranges::count(vendor.ways(), way) > 0; };
  ways.list = [&] {
    std::vector<std::string> all = vendor.ways();
    all.insert(all.begin(), std::string(our_way));
    return all;
  };
  ways.run = [&](const std::string& way) {
    if (way != our_way) return vendor.run(way);
    ours();
    return true;
  };
  const std::string kind = kind_of(operands.pass, operands.shape, dtype);
  const std::optional<std::string> way = chooser->choose(kind, ways);
  check(way && ways.run(*way), ErrorKind::internal, "Cuda", "a ", kind,
        " failed - expected success, as in earlier steps - see its log (CUDNN_LOGLEVEL_DBG=1), or set "
        "ETUDE_CUDNN=0.");
}

}  // namespace etude::cuda
