#include "etude/metrics/metrics.hpp"

#include "etude/classes/class_table.hpp"

namespace etude {

template <> ClassTable& class_table<Metric>() {
  static ClassTable table("metric", metrics::Metrics::entries);
  return table;
}

namespace metrics {
namespace {

/// A metric chosen by name, which is also the name of its log, unless it is of a custom class.
MetricPtr named_metric(std::string_view name, const std::string& log) {
  const ClassEntry& entry = class_table<Metric>().named(name);
  const auto options = entry.options();
  for (const Field& field : entry.fields)
    if (std::string_view(field.name) == "name" && !is_registered_name(name))
      *static_cast<std::string*>(field.member(options.get())) = log;
  return make_of<Metric>(entry, options.get());
}

/// The metrics of a name that is resolved by the compared shapes.
struct ByShape {
  std::string_view name, short_name;
  const char *binary, *sparse, *categorical;
};

/// In any case, as in Keras 2; null for other names.
const ByShape* by_shape(std::string name) {
  static constexpr ByShape all[] = {
      {"accuracy", "acc", "binary_accuracy", "sparse_categorical_accuracy", "categorical_accuracy"},
      {"crossentropy", "ce", "binary_crossentropy", "sparse_categorical_crossentropy", "categorical_crossentropy"}};
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const ByShape& each : all)
    if (name == each.name || name == each.short_name) return &each;
  return nullptr;
}

}  // namespace

void check_name(const Choice<Metric>& choice) {
  if (!choice.object()) class_table<Metric>().named(choice.name());
}

MetricPtr get(const Choice<Metric>& choice, const Shape& y_true, const Shape& y_pred) {
  if (choice.object()) return choice.object();
  const std::string& name = choice.name();
  const auto* made = by_shape(name);
  if (!made) return named_metric(name, name);
  const bool binary = y_pred.rank() == 0 || y_pred[-1] == 1;
  const bool sparse = y_true.rank() < y_pred.rank() || y_true[-1] == 1;
  return named_metric(binary ? made->binary : sparse ? made->sparse : made->categorical, name);
}

}  // namespace metrics
}  // namespace etude
