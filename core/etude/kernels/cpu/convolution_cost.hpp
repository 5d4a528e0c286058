#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "etude/execution/instruction.hpp"
#include "etude/kernels/cpu/convolution.hpp"

// The table by which the planner picks how a convolution is computed: for each method an estimate of what it costs, in
// multiplications and additions of one register as a product of large matrices does them. It does not know the threads:
// one shape is computed in one way, with the same bits on any number of them. Nor does pooling change an estimate, only
// which methods there are. What the estimates of Winograd and of sparse gradients are made of was measured.

namespace etude::cpu {

/// By method. Infinite: it cannot compute this convolution.
using ForwardCosts = std::array<double, 3>;
using GradientCosts = std::array<double, 3>;

ForwardCosts forward_costs(const instruction::ConvolutionShape& shape,
                           const std::optional<instruction::Pooling>& pooling, TileShape tile);
GradientCosts input_gradient_costs(const instruction::ConvolutionShape& shape,
                                   const std::optional<instruction::Pooling>& pooling, TileShape tile);
GradientCosts filter_gradient_costs(const instruction::ConvolutionShape& shape,
                                    const std::optional<instruction::Pooling>& pooling, TileShape tile);

/// The method that costs least, of equals the first.
template <class Method, std::size_t Methods> Method cheapest(const std::array<double, Methods>& costs) {
  return static_cast<Method>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}
inline double cost_of(const ForwardCosts& costs, ForwardMethod method) {
  return costs[static_cast<std::size_t>(method)];
}
inline double cost_of(const GradientCosts& costs, GradientMethod method) {
  return costs[static_cast<std::size_t>(method)];
}

}  // namespace etude::cpu
