#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "etude/execution/instruction.hpp"
#include "etude/kernels/cpu/convolution_kernels.hpp"

// The planner picks the method of a convolution by these estimates. Each is the cost of one method, in register-wide
// multiply-adds at the speed of a large matrix product. The number of threads is not considered: a shape always uses
// one method and gives the same bits on any number of threads. Pooling changes which methods are available, not their
// estimates. The constants of Winograd and of sparse gradients were measured.

namespace etude::cpu {

/// Costs by method; infinite: the method cannot compute this convolution.
using ForwardCosts = std::array<double, 4>;
using GradientCosts = std::array<double, 4>;

ForwardCosts forward_costs(const instruction::ConvolutionShape& shape,
                           const std::optional<instruction::Pooling>& pooling, TileShape tile);
GradientCosts input_gradient_costs(const instruction::ConvolutionShape& shape,
                                   const std::optional<instruction::Pooling>& pooling, TileShape tile);
GradientCosts filter_gradient_costs(const instruction::ConvolutionShape& shape,
                                    const std::optional<instruction::Pooling>& pooling, TileShape tile);

/// The method with the lowest cost; the first of equal ones.
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
