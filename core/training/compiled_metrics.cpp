#include "etude/training/compiled_metrics.hpp"

#include "etude/ops/elementwise.hpp"
#include "etude/training/compiled_losses.hpp"

namespace etude {

CompiledMetrics::CompiledMetrics(MetricChoices metrics, MetricChoices weighted)
    : metrics_(std::move(metrics)), weighted_(std::move(weighted)) {
  for (MetricChoices* choices : {&metrics_, &weighted_})
    choices->for_each([](const MetricList& list) {
      for (const Choice<Metric>& choice : list) metrics::check_name(choice);
    });
}

/// Metrics are chosen by the shapes of what they compare.
void CompiledMetrics::build(const StepData& data, const Outputs& y_pred, std::span<const std::string> names) {
  if (built_) return;
  for (const bool weighted : {false, true}) {
    const auto lists = (weighted ? weighted_ : metrics_).resolve(names, weighted ? "weighted_metrics" : "metrics");
    for (std::size_t i = 0; i < y_pred.size(); ++i) {
      if (!lists[i]) continue;
      const Shape y_true = i < data.y.size() ? data.y[i].shape() : y_pred[i].shape();
      for (const Choice<Metric>& choice : *lists[i]) {
        const MetricPtr metric = metrics::get(choice, y_true, y_pred[i].shape());
        entries_.push_back({metric, names.size() > 1 ? names[i] + '_' + metric->name() : metric->name(), i, weighted});
      }
    }
  }
  built_ = true;
}

void CompiledMetrics::update(const StepData& data, const Outputs& y_pred, std::span<const std::string> names) {
  build(data, y_pred, names);
  if (data.y.empty()) return;
  for (const auto& [metric, name, output, weighted] : entries_)
    metric->update_state(data.y[output], ops::widened(y_pred[output]),
                         weighted ? of_output(data.sample_weight, output) : Value{});
}

}  // namespace etude
