#include "etude/kernels/cpu/convolution_cost.hpp"

#include <limits>

namespace etude::cpu {

using instruction::ConvolutionShape;
using instruction::Pooling;

namespace {

constexpr double impossible = std::numeric_limits<double>::infinity();

/// Windows of at most this many terms are pooled in registers: deeper sums need larger tiles than a window has cells.
constexpr std::int64_t shallow_depth = 32;

double number(std::int64_t n) { return static_cast<double>(n); }
double registers_for(std::int64_t elements, TileShape tile) { return number((elements + tile.lanes - 1) / tile.lanes); }
std::int64_t depth(const ConvolutionShape& s) {
  return s.window.extent[0] * s.window.extent[1] * (s.channels / s.groups);
}

/// Whether every window of a pooling lies entirely inside y.
bool inside(const Pooling& p) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t count = axis == 0 ? p.rows : p.columns, extent = axis == 0 ? p.height : p.width;
    if (p.window.before[axis] != 0 || (count - 1) * p.window.strides[axis] + p.window.extent[axis] > extent)
      return false;
  }
  return true;
}

double implicit_gemm(const ConvolutionShape& s, TileShape tile) {
  return number(s.batch * s.rows * s.columns) * number(depth(s) * s.groups) * registers_for(s.filters / s.groups, tile);
}

bool fits_registers(const ConvolutionShape& s, const std::optional<Pooling>& p, TileShape tile) {
  if (!p || s.groups != 1 || depth(s) > shallow_depth || s.filters % tile.lanes != 0) return false;
  const std::int64_t cells = p->window.extent[0] * p->window.extent[1];
  return cells > 1 && cells <= tile.rows && inside(*p);
}

/// Winograd's tiles are 2 · 2; they must coincide with the windows of the pooling, if there is one.
bool fits_winograd(const ConvolutionShape& s, const std::optional<Pooling>& p) {
  using Pair = decltype(s.window.extent);
  const auto both = [](const Pair& pair, std::int64_t value) { return pair[0] == value && pair[1] == value; };
  return s.groups == 1 && both(s.window.extent, 3) && both(s.window.strides, 1) && both(s.window.dilation, 1) &&
         (!p || (both(p->window.extent, 2) && both(p->window.strides, 2) && both(p->window.before, 0)));
}

/// The sixteen products of each tile, with shorter sums than the convolution's own, plus the transforms' costs per
/// register: of pixels, of sums and, once, of the kernel's cells.
double winograd(const ConvolutionShape& s, TileShape tile) {
  constexpr double product = 18, pixels = 80, sums = 140, cells = 250;
  const double tiles = number(s.batch * ((s.rows + 1) / 2) * ((s.columns + 1) / 2)), channels = number(s.channels),
               filters = registers_for(s.filters, tile);
  return tiles * (product * channels * filters + pixels * registers_for(s.channels, tile) + sums * filters) +
         cells * channels * filters;
}

double by_channel(const ConvolutionShape& s, TileShape tile) {
  return number(s.batch * s.rows * s.columns) * number(depth(s)) * registers_for(s.channels, tile);
}

/// Whether a kernel for one channel per group computes it. No other method is near: their tiles would be nearly empty.
bool is_depthwise(const ConvolutionShape& s, const std::optional<Pooling>& p) {
  return s.groups > 1 && s.groups == s.channels && s.groups == s.filters && !p;
}

}  // namespace

ForwardCosts forward_costs(const ConvolutionShape& s, const std::optional<Pooling>& p, TileShape tile) {
  const double product = implicit_gemm(s, tile);
  return {fits_registers(s, p, tile) ? 0.9 * product : impossible, product,
          fits_winograd(s, p) ? winograd(s, tile) : impossible, is_depthwise(s, p) ? by_channel(s, tile) : impossible};
}

/// A pass over the nonzero elements takes three times as long per element as a matrix product, and needs whole
/// registers.
GradientCosts input_gradient_costs(const ConvolutionShape& s, const std::optional<Pooling>& p, TileShape tile) {
  if (is_depthwise(s, p)) return {impossible, impossible, impossible, by_channel(s, tile)};
  const double product = number(s.batch * s.rows * s.columns) * number(depth(s)) * number(s.filters) / tile.lanes;
  const std::int64_t row = s.window.extent[1] * s.channels;
  const bool rows_of_registers =
      s.groups == 1 && s.window.dilation[1] == 1 && row % tile.lanes == 0 && row >= 4 * tile.lanes;
  if (!p || !rows_of_registers) return {product, impossible, impossible, impossible};
  return {product, 3 * product / number(p->window.strides[0] * p->window.strides[1]), impossible, impossible};
}

GradientCosts filter_gradient_costs(const ConvolutionShape& s, const std::optional<Pooling>& p, TileShape tile) {
  auto [product, sparse, in_registers, depthwise] = input_gradient_costs(s, p, tile);
  if (p && s.groups == 1 && s.filters % tile.lanes == 0 && depth(s) <= tile.cells && inside(*p))
    in_registers = 0.9 * product;
  return {product, sparse, in_registers, depthwise};
}

}  // namespace etude::cpu
