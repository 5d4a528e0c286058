#include "etude/training/detail/compiled_metrics.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <typeinfo>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/training/detail/compiled_losses.hpp"

namespace etude {

MetricChoices::PerOutput MetricChoices::by_path(std::span<const std::string> names) const {
  if (named().empty()) return *this;
  MetricsByName all;
  for (const auto& [name, metrics] : named()) {
    std::vector<std::string> inside;
    std::ranges::copy_if(names, std::back_inserter(inside), [&](const std::string& other) {
      return other.starts_with(name + '/') && index_of_part(std::string_view(other).substr(name.size() + 1)) >= 0;
    });
    if (inside.size() == metrics.size() && place_of(name, names) < 0)
      for (std::size_t i = 0; i < inside.size(); ++i) all.emplace(inside[i], MetricList(metrics[i]));
    else
      all.emplace(name, metrics);
  }
  return all;
}

CompiledMetrics::CompiledMetrics(MetricChoices metrics, MetricChoices weighted)
    : metrics_(std::move(metrics)), weighted_(std::move(weighted)) {
  std::set<const Metric*> objects;
  for (MetricChoices* choices : {&metrics_, &weighted_})
    choices->for_each([&](const MetricList& list) {
      for (const Choice<Metric>& choice : list) {
        metrics::check_name(choice);
        check(!choice.object() || objects.insert(choice.object().get()).second, ErrorKind::value, "compile",
              "Found duplicated metrics object in the user provided metrics and weighted metrics: \"",
              choice.object() ? choice.object()->name() : "",
              "\" would be updated several times - expected different objects - create one for each.");
      }
    });
}

void CompiledMetrics::reset_given() {
  if (built_) return;
  for (MetricChoices* choices : {&metrics_, &weighted_})
    choices->for_each([](const MetricList& list) {
      for (const Choice<Metric>& choice : list)
        if (choice.object()) choice.object()->reset_state();
    });
}

namespace {

/// A metric for all outputs is copied for each of them, as in Keras 2; then its own variables do not change.
MetricPtr copied(const Metric& metric) {
  const FloatxScope scope(metric.dtype());
  MetricPtr copy = metric.copy();
  const Metric* made = copy.get();
  check(made && typeid(*made) == typeid(metric), ErrorKind::value, "compile", "one metric \"", metric.name(),
        "\" for several outputs, of a class that cannot be copied - expected an overridden copy() - override it, "
        "or pass an object for each output by its name.");
  copy->describe(metric.description());
  copy->direction = metric.direction;
  return copy;
}

}  // namespace

/// The name in logs, with "weighted_" if another metric already has that name. Source: CompileMetrics.result in
/// keras/src/trainers/compile_utils.py.
std::string CompiledMetrics::name_of(const std::string& metric, const std::string& prefix, bool weighted) const {
  const bool taken = weighted && std::ranges::find(entries_, prefix + metric, &Entry::name) != entries_.end();
  return prefix + (taken ? "weighted_" : "") + metric;
}

/// Chooses metrics by the shapes of targets and predictions.
void CompiledMetrics::build(const StepData& data, const Outputs& y_pred, std::span<const std::string> names,
                            std::span<const std::string> logged) {
  if (built_) return;
  for (const bool weighted : {false, true}) {
    const MetricChoices& choices = weighted ? weighted_ : metrics_;
    const bool shared = choices.one() && names.size() > 1;
    const auto lists = choices.resolve(names, weighted ? "weighted_metrics" : "metrics");
    for (std::size_t i = 0; i < y_pred.size(); ++i) {
      if (!lists[i]) continue;
      const Shape y_true = i < data.y.size() && data.y[i] ? data.y[i].shape() : y_pred[i].shape();
      for (const Choice<Metric>& choice : *lists[i]) {
        const MetricPtr metric =
            shared && choice.object() ? copied(*choice.object()) : metrics::get(choice, y_true, y_pred[i].shape());
        const std::string prefix = names.size() > 1 ? logged[i] + '_' : "";
        entries_.push_back({metric, name_of(metric->name(), prefix, weighted), i, weighted});
      }
    }
  }
  built_ = true;
}

void CompiledMetrics::update(const StepData& data, const Outputs& y_pred, std::span<const std::string> names,
                             std::span<const std::string> logged) {
  build(data, y_pred, names, logged);
  if (data.y.empty()) return;
  for (const auto& [metric, name, output, weighted] : entries_) {
    check(output < data.y.size(), ErrorKind::data, "fit", data.y.size(), " targets for metric \"", name,
          "\" of output ", output + 1, " - expected a target for each output - pass a list of y in their order.");
    if (!data.y[output]) continue;
    metric->update_state(data.y[output], ops::upcast(y_pred[output]),
                         weighted ? of_output(data.sample_weight, output) : Value{});
  }
}

}  // namespace etude
