#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/optimizers/schedule.hpp"

/// Keras's schedules; s is the number of earlier steps (O-18, O-19). Each function throws Error(value) if the learning
/// rate is not a finite number of 0 or more, if the decay has no steps, and as its comment states.
namespace etude::schedules {

/// The default of required options.
inline constexpr double unset = std::numeric_limits<double>::quiet_NaN();

struct ExponentialDecayOptions {
  double initial_learning_rate = unset;
  std::int64_t decay_steps = 0;
  double decay_rate = unset;
  bool staircase = false;
  std::string name = "ExponentialDecay";

  template <class O = ExponentialDecayOptions> static constexpr auto fields() {
    return option_rows(option<&O::initial_learning_rate>("Learning rate of the first step.", Need::required),
                       option<&O::decay_steps>("Steps over which it decays.", Need::required),
                       option<&O::decay_rate>("Factor of each decay.", Need::required),
                       option<&O::staircase>("Whether it decays in steps, not continuously."),
                       option<&O::name>("Name of the schedule."));
  }
};
struct PiecewiseConstantDecayOptions {
  std::vector<double> boundaries = {}, values = {};
  std::string name = "PiecewiseConstant";

  template <class O = PiecewiseConstantDecayOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::boundaries>("Steps up to which each value holds, in increasing order.", Need::required),
        option<&O::values>("Learning rates: one more than boundaries.", Need::required),
        option<&O::name>("Name of the schedule."));
  }
};
struct PolynomialDecayOptions {
  double initial_learning_rate = unset;
  std::int64_t decay_steps = 0;
  double end_learning_rate = 0.0001, power = 1;
  bool cycle = false;
  std::string name = "PolynomialDecay";

  template <class O = PolynomialDecayOptions> static constexpr auto fields() {
    return option_rows(option<&O::initial_learning_rate>("Learning rate of the first step.", Need::required),
                       option<&O::decay_steps>("Steps over which it decays.", Need::required),
                       option<&O::end_learning_rate>("Learning rate at the end."),
                       option<&O::power>("Exponent of the polynomial."),
                       option<&O::cycle>("Whether it restarts at its end."), option<&O::name>("Name of the schedule."));
  }
};
struct InverseTimeDecayOptions {
  double initial_learning_rate = unset;
  std::int64_t decay_steps = 0;
  double decay_rate = unset;
  bool staircase = false;
  std::string name = "InverseTimeDecay";

  template <class O = InverseTimeDecayOptions> static constexpr auto fields() {
    return option_rows(option<&O::initial_learning_rate>("Learning rate of the first step.", Need::required),
                       option<&O::decay_steps>("Steps over which it decays.", Need::required),
                       option<&O::decay_rate>("Rate of the decay.", Need::required),
                       option<&O::staircase>("Whether it decays in steps, not continuously."),
                       option<&O::name>("Name of the schedule."));
  }
};
struct CosineDecayOptions {
  double initial_learning_rate = unset;
  std::int64_t decay_steps = 0;
  double alpha = 0;
  std::string name = "CosineDecay";
  std::optional<double> warmup_target = {};
  std::int64_t warmup_steps = 0;

  template <class O = CosineDecayOptions> static constexpr auto fields() {
    return option_rows(option<&O::initial_learning_rate>("Learning rate of the first step.", Need::required),
                       option<&O::decay_steps>("Steps over which it decays.", Need::required),
                       option<&O::alpha>("Smallest learning rate, as a fraction of the first one."),
                       option<&O::name>("Name of the schedule."),
                       option<&O::warmup_target>("Learning rate at the end of the warmup. Default: no warmup."),
                       option<&O::warmup_steps>("Steps of the warmup."));
  }
};
struct CosineDecayRestartsOptions {
  double initial_learning_rate = unset;
  std::int64_t first_decay_steps = 0;
  double t_mul = 2, m_mul = 1, alpha = 0;
  std::string name = "SGDRDecay";

  template <class O = CosineDecayRestartsOptions> static constexpr auto fields() {
    return option_rows(option<&O::initial_learning_rate>("Learning rate of the first step.", Need::required),
                       option<&O::first_decay_steps>("Steps of the first period.", Need::required),
                       option<&O::t_mul>("Factor of the length of each further period."),
                       option<&O::m_mul>("Factor of the first learning rate of each further period."),
                       option<&O::alpha>("Smallest learning rate, as a fraction of the first one."),
                       option<&O::name>("Name of the schedule."));
  }
};
struct LinearCosineDecayOptions {
  double initial_learning_rate = unset;
  std::int64_t decay_steps = 0;
  double num_periods = 0.5, alpha = 0, beta = 0.001;
  std::string name = "LinearCosineDecay";

  template <class O = LinearCosineDecayOptions> static constexpr auto fields() {
    return option_rows(option<&O::initial_learning_rate>("Learning rate of the first step.", Need::required),
                       option<&O::decay_steps>("Steps over which it decays.", Need::required),
                       option<&O::num_periods>("Periods of the cosine over all steps."),
                       option<&O::alpha>("Number that is added to the line."),
                       option<&O::beta>("Number that is added to the product of line and cosine."),
                       option<&O::name>("Name of the schedule."));
  }
};
struct NoisyLinearCosineDecayOptions {
  double initial_learning_rate = unset;
  std::int64_t decay_steps = 0;
  double initial_variance = 1, variance_decay = 0.55;
  double num_periods = 0.5, alpha = 0, beta = 0.001;
  std::optional<std::int64_t> seed = {};
  std::string name = "NoisyLinearCosineDecay";

  template <class O = NoisyLinearCosineDecayOptions> static constexpr auto fields() {
    return option_rows(option<&O::initial_learning_rate>("Learning rate of the first step.", Need::required),
                       option<&O::decay_steps>("Steps over which it decays.", Need::required),
                       option<&O::initial_variance>("Variance of the noise in the first step."),
                       option<&O::variance_decay>("The variance is divided by (1 + step) to this power."),
                       option<&O::num_periods>("Periods of the cosine over all steps."),
                       option<&O::alpha>("Number that is added to the line."),
                       option<&O::beta>("Number that is added to the product of line and cosine."),
                       option<&O::seed>("Seed of the random draws. Default: derived from the global seed."),
                       option<&O::name>("Name of the schedule."));
  }
};

/// initial · rate^(s / steps); staircase rounds the exponent down. Also Error(value) for a decay_rate below 0.
struct ExponentialDecay {
  static constexpr ClassText about{
      .name = "ExponentialDecay",
      .text = "initial · decay_rate^(step / decay_steps).",
      .example = R"({"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5})"};
  static LearningRateSchedulePtr make(const ExponentialDecayOptions& options);
};
inline constexpr Factory<ExponentialDecay> exponential_decay;

/// values[i] up to and including the step boundaries[i]; after the last boundary the last value. Error(value) unless
/// boundaries increase and there is one value more than boundaries.
struct PiecewiseConstantDecay {
  static constexpr ClassText about{.name = "PiecewiseConstantDecay",
                                   .text = "A value up to each boundary.",
                                   .example = R"({"boundaries": [5], "values": [0.1, 0.01]})"};
  static LearningRateSchedulePtr make(const PiecewiseConstantDecayOptions& options);
};
inline constexpr Factory<PiecewiseConstantDecay> piecewise_constant_decay;

/// (initial - end) · (1 - s / steps)^power + end; after `steps` it stays constant, or with cycle restarts over 2, 3, …
/// times as many steps. Also Error(value) for a power below 0.
struct PolynomialDecay {
  static constexpr ClassText about{.name = "PolynomialDecay",
                                   .text = "A polynomial from the first to the last learning rate.",
                                   .example = R"({"initial_learning_rate": 0.1, "decay_steps": 10})"};
  static LearningRateSchedulePtr make(const PolynomialDecayOptions& options);
};
inline constexpr Factory<PolynomialDecay> polynomial_decay;

/// initial / (1 + rate · s / steps); staircase rounds the quotient down. Also Error(value) for a decay_rate below 0.
struct InverseTimeDecay {
  static constexpr ClassText about{
      .name = "InverseTimeDecay",
      .text = "initial / (1 + decay_rate · step / decay_steps).",
      .example = R"({"initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5})"};
  static LearningRateSchedulePtr make(const InverseTimeDecayOptions& options);
};
inline constexpr Factory<InverseTimeDecay> inverse_time_decay;

/// Half a cosine from initial to alpha · initial. With a warmup_target, a line from initial to it over warmup_steps
/// comes first, and the cosine starts there.
struct CosineDecay {
  static constexpr ClassText about{.name = "CosineDecay",
                                   .text = "Half a cosine, after an optional linear warmup.",
                                   .example = R"({"initial_learning_rate": 0.1, "decay_steps": 10})"};
  static LearningRateSchedulePtr make(const CosineDecayOptions& options);
};
inline constexpr Factory<CosineDecay> cosine_decay;

/// Half cosines, each t_mul times as long and m_mul times as high as the previous one. Also Error(value) for a t_mul
/// below 1 and an m_mul of 0 or less.
struct CosineDecayRestarts {
  static constexpr ClassText about{.name = "CosineDecayRestarts",
                                   .text = "Half cosines, each t_mul times as long as the previous one.",
                                   .example = R"({"initial_learning_rate": 0.1, "first_decay_steps": 10})"};
  static LearningRateSchedulePtr make(const CosineDecayRestartsOptions& options);
};
inline constexpr Factory<CosineDecayRestarts> cosine_decay_restarts;

/// initial · ((alpha + 1 - s / steps) · (1 + cos(2 pi num_periods s / steps)) / 2 + beta); after `steps` it stays
/// constant. Also Error(value) for a num_periods, alpha or beta below 0. Source: arXiv 1709.07417;
/// tf_keras/optimizers/schedules/learning_rate_schedule.py.
struct LinearCosineDecay {
  static constexpr ClassText about{.name = "LinearCosineDecay",
                                   .text = "A line times half a cosine, or more periods of it.",
                                   .example = R"({"initial_learning_rate": 0.1, "decay_steps": 10})"};
  static LearningRateSchedulePtr make(const LinearCosineDecayOptions& options);
};
inline constexpr Factory<LinearCosineDecay> linear_cosine_decay;

/// LinearCosineDecay of a line with normal noise of the variance initial_variance / (1 + s)^variance_decay, s at most
/// `steps`. The rate may be negative. A step always has the same noise, on every device and replica. Also Error(value)
/// for an initial_variance or variance_decay below 0. Source: arXiv 1709.07417;
/// tf_keras/optimizers/schedules/learning_rate_schedule.py.
struct NoisyLinearCosineDecay {
  static constexpr ClassText about{.name = "NoisyLinearCosineDecay",
                                   .text = "A line with random noise, times half a cosine, or more periods of it.",
                                   .example = R"({"initial_learning_rate": 0.1, "decay_steps": 10})"};
  static LearningRateSchedulePtr make(const NoisyLinearCosineDecayOptions& options);
};
inline constexpr Factory<NoisyLinearCosineDecay> noisy_linear_cosine_decay;

/// The family of schedules. To add a schedule, add it here.
using Schedules = ClassList<ExponentialDecay, PiecewiseConstantDecay, PolynomialDecay, InverseTimeDecay, CosineDecay,
                            CosineDecayRestarts, LinearCosineDecay, NoisyLinearCosineDecay>;

}  // namespace etude::schedules
