#include "etude/metrics/of_loss.hpp"

#include "etude/losses/losses.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude::metrics {
namespace {

/// The loss of each sample, and 0 where the loss's own mask excludes it; the mask marks those.
Value values_of(Loss& loss, Value y_true, Value y_pred) {
  const Value values = loss.call(y_true, y_pred);
  const Value mask = loss.own_mask(y_true, values);
  return mask ? ops::where(mask, values, ops::scalar(0, values)).with_mask(mask) : values;
}

MetricPtr of_loss(const std::string& name, const LossPtr& loss) {
  return from_function([loss](Value t, Value p) { return values_of(*loss, t, p); }, name, Direction::down);
}

class RootMeanSquaredErrorMetric : public MeanOf {
 public:
  explicit RootMeanSquaredErrorMetric(std::string name) : MeanOf(squared, std::move(name), Direction::down) {}
  Value result() const override { return ops::sqrt(MeanOf::result()); }
  MetricPtr copy() const override { return std::make_shared<RootMeanSquaredErrorMetric>(name()); }

 private:
  static Value squared(Value y_true, Value y_pred) { return ops::square(ops::cast(y_true, y_pred.dtype()) - y_pred); }
};

}  // namespace

MetricPtr MeanSquaredError::make(const MetricOptions& options) {
  return of_loss(options.name_or("mean_squared_error"), losses::mean_squared_error());
}
MetricPtr MeanAbsoluteError::make(const MetricOptions& options) {
  return of_loss(options.name_or("mean_absolute_error"), losses::mean_absolute_error());
}
MetricPtr MeanAbsolutePercentageError::make(const MetricOptions& options) {
  return of_loss(options.name_or("mean_absolute_percentage_error"), losses::mean_absolute_percentage_error());
}
MetricPtr MeanSquaredLogarithmicError::make(const MetricOptions& options) {
  return of_loss(options.name_or("mean_squared_logarithmic_error"), losses::mean_squared_logarithmic_error());
}
MetricPtr LogCoshError::make(const MetricOptions& options) {
  return of_loss(options.name_or("logcosh"), losses::log_cosh());
}
MetricPtr Hinge::make(const MetricOptions& options) { return of_loss(options.name_or("hinge"), losses::hinge()); }
MetricPtr SquaredHinge::make(const MetricOptions& options) {
  return of_loss(options.name_or("squared_hinge"), losses::squared_hinge());
}
MetricPtr CategoricalHinge::make(const MetricOptions& options) {
  return of_loss(options.name_or("categorical_hinge"), losses::categorical_hinge());
}
MetricPtr KLDivergence::make(const MetricOptions& options) {
  return of_loss(options.name_or("kl_divergence"), losses::kl_divergence());
}
MetricPtr Poisson::make(const MetricOptions& options) { return of_loss(options.name_or("poisson"), losses::poisson()); }

MetricPtr RootMeanSquaredError::make(const MetricOptions& o) {
  return std::make_shared<RootMeanSquaredErrorMetric>(o.name_or("root_mean_squared_error"));
}
MetricPtr CosineSimilarity::make(const CosineSimilarityMetricOptions& options) {
  const auto values = [loss = losses::cosine_similarity({.axis = options.axis})](Value t, Value p) {
    return -loss->call(t, p);
  };
  return from_function(values, options.name, Direction::up);
}
MetricPtr BinaryCrossentropy::make(const BinaryCrossentropyMetricOptions& o) {
  return of_loss(o.name,
                 losses::binary_crossentropy({.from_logits = o.from_logits, .label_smoothing = o.label_smoothing}));
}
MetricPtr CategoricalCrossentropy::make(const CategoricalCrossentropyMetricOptions& o) {
  return of_loss(o.name, losses::categorical_crossentropy(
                             {.from_logits = o.from_logits, .label_smoothing = o.label_smoothing, .axis = o.axis}));
}
MetricPtr SparseCategoricalCrossentropy::make(const SparseCategoricalCrossentropyMetricOptions& o) {
  return of_loss(o.name, losses::sparse_categorical_crossentropy(
                             {.from_logits = o.from_logits, .ignore_class = o.ignore_class, .axis = o.axis}));
}

}  // namespace etude::metrics
