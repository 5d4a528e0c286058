#pragma once

#include "etude/losses/loss.hpp"

namespace etude::losses {

struct HuberOptions {
  double delta = 1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "huber_loss";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("delta", self.delta);
    visit("reduction", self.reduction);
    visit("name", self.name);
  }
};
struct CosineSimilarityOptions {
  std::ptrdiff_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "cosine_similarity";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("reduction", self.reduction);
    visit("name", self.name);
  }
};

// t, p: targets and predictions [batch, ..]; of axes behind the batch a target may have 1 where the prediction has
// more.

/// mean((t - p)²) over the last axis.
LossPtr mean_squared_error(LossOptions options = {});
/// mean(|t - p|) over the last axis.
LossPtr mean_absolute_error(LossOptions options = {});
/// 100 · mean(|t - p| / max(|t|, 1e-7)) over the last axis.
LossPtr mean_absolute_percentage_error(LossOptions options = {});
/// mean((log(t + 1) - log(p + 1))²) over the last axis, t and p at least 1e-7.
LossPtr mean_squared_logarithmic_error(LossOptions options = {});
/// mean(0.5 e² where |e| <= delta, else delta |e| - 0.5 delta²) of e = t - p over the last axis.
LossPtr huber(HuberOptions options = {});
/// mean(log(cosh(p - t))) over the last axis.
LossPtr log_cosh(LossOptions options = {});
/// -sum(t p) / (‖t‖ ‖p‖) along `axis`: -1 of equal directions, 0 where one of them is zero. Throws Error(shape) unless
/// shapes are equal.
LossPtr cosine_similarity(CosineSimilarityOptions options = {});

}  // namespace etude::losses
