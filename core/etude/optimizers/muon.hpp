#pragma once

#include <string>
#include <vector>

#include "etude/optimizers/optimizer.hpp"

namespace etude::optimizers {

struct MuonOptions {
  LearningRate learning_rate = 0.001;
  double adam_beta_1 = 0.9, adam_beta_2 = 0.999;
  std::optional<double> adam_weight_decay = 0.004;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = 0.004, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "muon";
  std::vector<std::string> exclude_layers = {};
  bool exclude_embeddings = true;
  double muon_a = 3.4445, muon_b = -4.7750, muon_c = 2.0315;
  double adam_lr_ratio = 1, momentum = 0.95;
  std::int64_t ns_steps = 5;
  bool nesterov = true;
  std::optional<double> rms_rate = 0.2;

  template <class O = MuonOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step: a number or a schedule."),
        option<&O::adam_beta_1>("Decay of Adam's average of the gradients, from 0 to 1."),
        option<&O::adam_beta_2>("Decay of Adam's average of their squares, from 0 to 1."),
        option<&O::adam_weight_decay>("Weight decay of the variables that Adam updates."),
        option<&O::epsilon>("Small number that avoids a division by 0 in Adam."),
        option<&O::weight_decay>("Weight decay of the matrices that Muon updates."), optimizer_fields<O>(),
        option<&O::exclude_layers>("Regular expressions: Adam updates variables with matching names."),
        option<&O::exclude_embeddings>("Whether Adam updates embeddings."),
        option<&O::muon_a>("Factor of x in the Newton-Schulz iteration."),
        option<&O::muon_b>("Factor of x xᵀ x in the Newton-Schulz iteration."),
        option<&O::muon_c>("Factor of (x xᵀ)² x in the Newton-Schulz iteration."),
        option<&O::adam_lr_ratio>("Learning rate of Adam, as a fraction of that of Muon."),
        option<&O::momentum>("Fraction of the averaged gradient that a step of Muon keeps, from 0 to 1."),
        option<&O::ns_steps>("Steps of the Newton-Schulz iteration."),
        option<&O::nesterov>("Whether Nesterov momentum is used."),
        option<&O::rms_rate>("Scales steps so that Adam's learning rates fit; null: no scaling."));
  }
};

/// Updates matrices by their averaged gradient, made nearly orthogonal (U Vᵀ of its singular value decomposition) by a
/// Newton-Schulz iteration; with rms_rate times sqrt(max(n, m)) · rms_rate for a matrix [n, m]. Adam updates variables
/// of another rank, embeddings and those of exclude_layers. Throws Error(value) for a beta or momentum outside [0, 1],
/// an epsilon, rate or decay below 0, ns_steps outside [1, 100], and for invalid regular expressions. Source:
/// keras/src/optimizers/muon.py; arXiv 2502.16982.
struct Muon {
  static constexpr ClassText about{"Muon", "Steps by the orthogonalized gradient of each matrix; Adam for the rest."};
  static OptimizerPtr make(const MuonOptions& options);
};
inline constexpr Factory<Muon> muon;

}  // namespace etude::optimizers
