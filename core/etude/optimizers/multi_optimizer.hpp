#pragma once

#include <map>
#include <vector>

#include "etude/optimizers/optimizer.hpp"

namespace etude::optimizers {

struct MultiOptimizerOptions {
  Choice<Optimizer> default_optimizer = {};  ///< Required.
  std::map<std::string, Choice<Optimizer>> optimizer_map = {};
  std::optional<double> loss_scale_factor = {};
  std::string name = "multi_optimizer";

  template <class O = MultiOptimizerOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::default_optimizer>("Optimizer of all variables without another one.", Need::required),
        option<&O::optimizer_map>("Optimizers by the name of a variable, or by a regular expression that matches "
                                  "the whole name, such as \"dense/.*\"."),
        option<&O::loss_scale_factor>("Factor of the loss, by which gradients are divided."),
        option<&O::name>("Name of the optimizer."));
  }
};

/// Updates each variable by one of several optimizers: that of its name, that of the only matching regular expression,
/// or the default one. Each clips, decays, averages and accumulates the gradients of its own variables; their
/// loss_scale_factor does not count. There is no common learning rate: set that of each of inner_optimizers(). Throws
/// Error(value) without a default_optimizer, for an invalid regular expression, for another MultiOptimizer or a
/// LossScaleOptimizer inside, and in the first step if several regular expressions match a name. Source:
/// keras/src/optimizers/multi_optimizer.py.
struct MultiOptimizer {
  static constexpr ClassText about{
      .name = "MultiOptimizer",
      .text = "Updates each variable by the optimizer that is chosen by the variable's name.",
      .example = R"({"default_optimizer": "sgd", "optimizer_map": {"dense/.*": "adam"}})"};
  static OptimizerPtr make(const MultiOptimizerOptions& options);
};
inline constexpr Factory<MultiOptimizer> multi_optimizer;

/// The optimizers of a MultiOptimizer, each once, in the order of their patterns, and the default one last, as in
/// Keras. None of another optimizer.
std::vector<Optimizer*> inner_optimizers(const Optimizer& optimizer);

}  // namespace etude::optimizers
