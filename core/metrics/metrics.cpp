#include "etude/metrics/metrics.hpp"

#include "etude/base/catalogue.hpp"

namespace etude::metrics {
namespace {

/// Makes a metric of that name.
using Make = std::function<MetricPtr(const std::string& name)>;

template <class Product, class Options> Make called(Product (*make)(Options)) {
  return [make](const std::string& name) {
    Options options;
    options.name = name;
    return make(options);
  };
}

const Catalogue<Make>& catalogue() {
  static const Catalogue<Make> instance(
      "metric", {
                    {"accuracy", called(accuracy)},
                    {"acc", called(accuracy)},
                    {"binary_accuracy", called(binary_accuracy)},
                    {"categorical_accuracy", called(categorical_accuracy)},
                    {"sparse_categorical_accuracy", called(sparse_categorical_accuracy)},
                    {"top_k_categorical_accuracy", called(top_k_categorical_accuracy)},
                    {"sparse_top_k_categorical_accuracy", called(sparse_top_k_categorical_accuracy)},
                    {"mean_squared_error", called(mean_squared_error)},
                    {"mse", called(mean_squared_error)},
                    {"root_mean_squared_error", called(root_mean_squared_error)},
                    {"rmse", called(root_mean_squared_error)},
                    {"mean_absolute_error", called(mean_absolute_error)},
                    {"mae", called(mean_absolute_error)},
                    {"mean_absolute_percentage_error", called(mean_absolute_percentage_error)},
                    {"mape", called(mean_absolute_percentage_error)},
                    {"mean_squared_logarithmic_error", called(mean_squared_logarithmic_error)},
                    {"msle", called(mean_squared_logarithmic_error)},
                    {"log_cosh_error", called(log_cosh_error)},
                    {"log_cosh", called(log_cosh_error)},
                    {"cosine_similarity", called(cosine_similarity)},
                    {"hinge", called(hinge)},
                    {"squared_hinge", called(squared_hinge)},
                    {"categorical_hinge", called(categorical_hinge)},
                    {"kl_divergence", called(kl_divergence)},
                    {"kullback_leibler_divergence", called(kl_divergence)},
                    {"kld", called(kl_divergence)},
                    {"poisson", called(poisson)},
                    {"binary_crossentropy", called(binary_crossentropy)},
                    {"bce", called(binary_crossentropy)},
                    {"categorical_crossentropy", called(categorical_crossentropy)},
                    {"sparse_categorical_crossentropy", called(sparse_categorical_crossentropy)},
                    {"crossentropy", called(categorical_crossentropy)},
                    {"ce", called(categorical_crossentropy)},
                });
  return instance;
}

/// What a name means that is resolved by the shapes of what is compared.
struct ByShape {
  std::string_view name, short_name;
  const char *binary, *sparse, *categorical;
};

/// In any case, as Keras 2 takes them; null for other names.
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
  if (!choice.object()) catalogue().find(choice.name());
}

MetricPtr get(const Choice<Metric>& choice, const Shape& y_true, const Shape& y_pred) {
  if (choice.object()) return choice.object();
  const std::string& name = choice.name();
  const auto* made = by_shape(name);
  if (!made) return catalogue().find(name)(name);
  const bool binary = y_pred.rank() == 0 || y_pred[-1] == 1;
  const bool sparse = y_true.rank() < y_pred.rank() || y_true[-1] == 1;
  return catalogue().find(binary ? made->binary : sparse ? made->sparse : made->categorical)(name);
}

}  // namespace etude::metrics
