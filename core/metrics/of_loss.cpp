#include "etude/metrics/of_loss.hpp"

#include "etude/losses/losses.hpp"
#include "etude/metrics/named.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude::metrics {
namespace {

/// What a loss gives each sample, and 0 for what it wants left out; the mask says what that is.
Value values_of(Loss& loss, Value y_true, Value y_pred) {
  const Value values = loss.call(y_true, y_pred);
  const Value mask = loss.own_mask(y_true);
  return mask ? ops::where(mask, values, ops::scalar(0, values)).with_mask(mask) : values;
}

template <class Options> MetricPtr of_loss(const char* class_name, const Options& options, const LossPtr& loss) {
  const auto values = [loss](Value t, Value p) { return values_of(*loss, t, p); };
  return described(class_name, options, from_function(values, options.name, Direction::down));
}

class RootMeanSquaredError : public MeanOf {
 public:
  explicit RootMeanSquaredError(std::string name) : MeanOf(squared, std::move(name), Direction::down) {}
  Value result() const override { return ops::sqrt(MeanOf::result()); }
  MetricPtr copy() const override { return std::make_shared<RootMeanSquaredError>(name()); }

 private:
  static Value squared(Value y_true, Value y_pred) { return ops::square(ops::cast(y_true, y_pred.dtype()) - y_pred); }
};

}  // namespace

MetricPtr mean_squared_error(MetricOptions options) {
  return of_loss("MeanSquaredError", named(options, "mean_squared_error"), losses::mean_squared_error());
}
MetricPtr mean_absolute_error(MetricOptions options) {
  return of_loss("MeanAbsoluteError", named(options, "mean_absolute_error"), losses::mean_absolute_error());
}
MetricPtr mean_absolute_percentage_error(MetricOptions options) {
  return of_loss("MeanAbsolutePercentageError", named(options, "mean_absolute_percentage_error"),
                 losses::mean_absolute_percentage_error());
}
MetricPtr mean_squared_logarithmic_error(MetricOptions options) {
  return of_loss("MeanSquaredLogarithmicError", named(options, "mean_squared_logarithmic_error"),
                 losses::mean_squared_logarithmic_error());
}
MetricPtr log_cosh_error(MetricOptions options) {
  return of_loss("LogCoshError", named(options, "logcosh"), losses::log_cosh());
}
MetricPtr hinge(MetricOptions options) { return of_loss("Hinge", named(options, "hinge"), losses::hinge()); }
MetricPtr squared_hinge(MetricOptions options) {
  return of_loss("SquaredHinge", named(options, "squared_hinge"), losses::squared_hinge());
}
MetricPtr categorical_hinge(MetricOptions options) {
  return of_loss("CategoricalHinge", named(options, "categorical_hinge"), losses::categorical_hinge());
}
MetricPtr kl_divergence(MetricOptions options) {
  return of_loss("KLDivergence", named(options, "kl_divergence"), losses::kl_divergence());
}
MetricPtr poisson(MetricOptions options) { return of_loss("Poisson", named(options, "poisson"), losses::poisson()); }

MetricPtr root_mean_squared_error(MetricOptions o) {
  const MetricOptions options = named(o, "root_mean_squared_error");
  return described<Metric>("RootMeanSquaredError", options, std::make_shared<RootMeanSquaredError>(options.name));
}
MetricPtr cosine_similarity(CosineSimilarityMetricOptions options) {
  const auto values = [loss = losses::cosine_similarity({.axis = options.axis})](Value t, Value p) {
    return -loss->call(t, p);
  };
  return described("CosineSimilarity", options, from_function(values, options.name, Direction::up));
}
MetricPtr binary_crossentropy(BinaryCrossentropyMetricOptions o) {
  return of_loss("BinaryCrossentropy", o,
                 losses::binary_crossentropy({.from_logits = o.from_logits, .label_smoothing = o.label_smoothing}));
}
MetricPtr categorical_crossentropy(CategoricalCrossentropyMetricOptions o) {
  return of_loss("CategoricalCrossentropy", o,
                 losses::categorical_crossentropy(
                     {.from_logits = o.from_logits, .label_smoothing = o.label_smoothing, .axis = o.axis}));
}
MetricPtr sparse_categorical_crossentropy(SparseCategoricalCrossentropyMetricOptions o) {
  return of_loss("SparseCategoricalCrossentropy", o,
                 losses::sparse_categorical_crossentropy(
                     {.from_logits = o.from_logits, .ignore_class = o.ignore_class, .axis = o.axis}));
}

}  // namespace etude::metrics
