#pragma once

#include <string_view>

#include "etude/base/catalogue.hpp"
#include "etude/optimizers/adagrad.hpp"
#include "etude/optimizers/adam.hpp"
#include "etude/optimizers/schedules.hpp"
#include "etude/optimizers/sgd.hpp"

namespace etude::optimizers {

struct LossScaleOptimizerOptions {
  Choice<Optimizer> inner_optimizer = {};  ///< Required.
  double initial_scale = 32768;
  std::int64_t dynamic_growth_steps = 2000;  ///< that go well before the scale doubles

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("inner_optimizer", self.inner_optimizer);
    visit("initial_scale", self.initial_scale);
    visit("dynamic_growth_steps", self.dynamic_growth_steps);
  }
};
/// The inner optimizer, which from now on scales the loss as gradients in float16 want it (LossScale). compile() does
/// that by itself where a model computes in float16. Throws Error(value) without an inner optimizer.
OptimizerPtr loss_scale_optimizer(LossScaleOptimizerOptions options);

/// The optimizer of that class, with options of which `set` has been shown each by name: how a config is read. Throws
/// Error(value) listing the classes there are.
template <class Set> OptimizerPtr make(std::string_view class_name, Set&& set) {
  const Catalogue<Maker<OptimizerPtr>> catalogue("optimizer", {
                                                                  {"sgd", maker_of(sgd, set)},
                                                                  {"rmsprop", maker_of(rmsprop, set)},
                                                                  {"adam", maker_of(adam, set)},
                                                                  {"adamw", maker_of(adamw, set)},
                                                                  {"adamax", maker_of(adamax, set)},
                                                                  {"nadam", maker_of(nadam, set)},
                                                                  {"adagrad", maker_of(adagrad, set)},
                                                                  {"adadelta", maker_of(adadelta, set)},
                                                                  {"ftrl", maker_of(ftrl, set)},
                                                                  {"lion", maker_of(lion, set)},
                                                                  {"lamb", maker_of(lamb, set)},
                                                              });
  return catalogue.find(class_name)();
}

}  // namespace etude::optimizers
