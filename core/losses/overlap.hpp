#pragma once

#include "etude/base/integers.hpp"
#include "etude/losses/loss.hpp"

namespace etude::losses {

struct DiceOptions {
  std::string reduction = "sum_over_batch_size";
  std::string name = "dice";
  Integers axis = {};
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("reduction", self.reduction);
    visit("name", self.name);
    visit("axis", self.axis);
  }
};
struct TverskyOptions {
  double alpha = 0.5;
  double beta = 0.5;
  std::string reduction = "sum_over_batch_size";
  std::string name = "tversky";
  Integers axis = {};
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("alpha", self.alpha);
    visit("beta", self.beta);
    visit("reduction", self.reduction);
    visit("name", self.name);
    visit("axis", self.axis);
  }
};

// How little two sets overlap, summed over `axis`, or over the whole batch where it is empty.

/// 1 - 2 sum(t p) / (sum(t) + sum(p) + 1e-7).
LossPtr dice(DiceOptions options = {});
/// 1 - i / (i + alpha sum((1 - t) p) + beta sum(t (1 - p)) + 1e-7) where i = sum(t p). alpha weighs what is found too
/// much, beta what is missed. Source: https://arxiv.org/abs/1706.05721.
LossPtr tversky(TverskyOptions options = {});

}  // namespace etude::losses
