#include "etude/saving/registry.hpp"

#include <algorithm>

#include "etude/layers/layers.hpp"
#include "etude/losses/losses.hpp"
#include "etude/metrics/metrics.hpp"
#include "etude/optimizers/optimizers.hpp"
#include "etude/saving/config.hpp"
#include "etude/saving/model_config.hpp"

namespace etude {

const std::string& class_name_in(const Json& json) {
  const bool named = json.is_object() && json.contains("class_name") && json["class_name"].is_string();
  check(named, ErrorKind::data, "config", json_text(json).substr(0, 80),
        " - expected {\"class_name\": …, \"config\": {…}} - check the text.");
  return json["class_name"].get_ref<const std::string&>();
}

const Json& config_in(const Json& json) {
  static const Json none = Json::object();
  if (!json.contains("config")) return none;
  check(json["config"].is_object(), ErrorKind::data, class_name_in(json),
        "a config that is no object: ", json_text(json["config"]).substr(0, 80),
        " - expected {\"class_name\": …, \"config\": {…}} - check the text.");
  return json["config"];
}

void read_config(const ConfigFields& fields, const std::string& class_name, const Json& config) {
  std::size_t used = 0;
  for (const ConfigField& field : fields) {
    const auto found = config.find(field.name);
    if (found == config.end()) continue;
    ++used;
    field.read(*found, field.field, {class_name, field.name});
  }
  if (used == config.size()) return;
  std::string known;
  for (const ConfigField& field : fields) known += (known.empty() ? "" : ", ") + std::string(field.name);
  for (const auto& [name, value] : config.items())
    check(value.is_null() || std::ranges::find(fields, name, &ConfigField::name) != fields.end(), ErrorKind::value,
          class_name, "config field \"", name, "\" - expected one of: ", known, " - leave it out.");
}

Json config_of(const ConfigFields& fields, const std::string& class_name) {
  Json config = Json::object();
  for (const ConfigField& field : fields) config[field.name] = field.json(field.field, {class_name, field.name});
  return config;
}

template <> const Registry<Layer>& registry() {
  static const Registry<Layer> table(
      "layer", {
                   entry<Layer, static_cast<LayerPtr (*)(ActivationOptions)>(layers::activation)>("Activation"),
                   entry<Layer, layers::add>("Add"),
                   entry<Layer, layers::batch_normalization>("BatchNormalization"),
                   entry<Layer, layers::concatenate>("Concatenate"),
                   entry<Layer, layers::conv2d>("Conv2D"),
                   entry<Layer, layers::dense>("Dense"),
                   entry<Layer, static_cast<LayerPtr (*)(DropoutOptions)>(layers::dropout)>("Dropout"),
                   entry<Layer, layers::embedding>("Embedding"),
                   entry<Layer, layers::flatten>("Flatten"),
                   entry<Layer, layers::gaussian_noise>("GaussianNoise"),
                   entry<Layer, layers::global_average_pooling1d>("GlobalAveragePooling1D"),
                   entry<Layer, layers::gru>("GRU"),
                   entry<Layer, layers::layer_normalization>("LayerNormalization"),
                   entry<Layer, layers::lstm>("LSTM"),
                   entry<Layer, layers::max_pooling2d>("MaxPooling2D"),
                   entry<Layer, layers::multi_head_attention>("MultiHeadAttention"),
                   entry<Layer, layers::rescaling>("Rescaling"),
                   entry<Layer, layers::simple_rnn>("SimpleRNN"),
               });
  return table;
}

template <> const Registry<Loss>& registry() {
  static const Registry<Loss> table(
      "loss", {
                  entry<Loss, losses::binary_crossentropy>("BinaryCrossentropy"),
                  entry<Loss, losses::binary_focal_crossentropy>("BinaryFocalCrossentropy"),
                  entry<Loss, losses::categorical_crossentropy>("CategoricalCrossentropy"),
                  entry<Loss, losses::categorical_focal_crossentropy>("CategoricalFocalCrossentropy"),
                  entry<Loss, losses::categorical_generalized_cross_entropy>("CategoricalGeneralizedCrossEntropy"),
                  entry<Loss, losses::categorical_hinge>("CategoricalHinge"),
                  entry<Loss, losses::cosine_similarity>("CosineSimilarity"),
                  entry<Loss, losses::dice>("Dice"),
                  entry<Loss, losses::hinge>("Hinge"),
                  entry<Loss, losses::huber>("Huber"),
                  entry<Loss, losses::kl_divergence>("KLDivergence"),
                  entry<Loss, losses::log_cosh>("LogCosh"),
                  entry<Loss, losses::mean_absolute_error>("MeanAbsoluteError"),
                  entry<Loss, losses::mean_absolute_percentage_error>("MeanAbsolutePercentageError"),
                  entry<Loss, losses::mean_squared_error>("MeanSquaredError"),
                  entry<Loss, losses::mean_squared_logarithmic_error>("MeanSquaredLogarithmicError"),
                  entry<Loss, losses::poisson>("Poisson"),
                  entry<Loss, losses::sparse_categorical_crossentropy>("SparseCategoricalCrossentropy"),
                  entry<Loss, losses::squared_hinge>("SquaredHinge"),
                  entry<Loss, losses::tversky>("Tversky"),
              });
  return table;
}

template <> const Registry<Metric>& registry() {
  static const Registry<Metric> table(
      "metric", {
                    entry<Metric, metrics::accuracy>("Accuracy"),
                    entry<Metric, metrics::binary_accuracy>("BinaryAccuracy"),
                    entry<Metric, metrics::binary_crossentropy>("BinaryCrossentropy"),
                    entry<Metric, metrics::categorical_accuracy>("CategoricalAccuracy"),
                    entry<Metric, metrics::categorical_crossentropy>("CategoricalCrossentropy"),
                    entry<Metric, metrics::categorical_hinge>("CategoricalHinge"),
                    entry<Metric, metrics::cosine_similarity>("CosineSimilarity"),
                    entry<Metric, metrics::hinge>("Hinge"),
                    entry<Metric, metrics::kl_divergence>("KLDivergence"),
                    entry<Metric, metrics::log_cosh_error>("LogCoshError"),
                    entry<Metric, metrics::mean>("Mean"),
                    entry<Metric, metrics::mean_absolute_error>("MeanAbsoluteError"),
                    entry<Metric, metrics::mean_absolute_percentage_error>("MeanAbsolutePercentageError"),
                    entry<Metric, metrics::mean_squared_error>("MeanSquaredError"),
                    entry<Metric, metrics::mean_squared_logarithmic_error>("MeanSquaredLogarithmicError"),
                    entry<Metric, metrics::poisson>("Poisson"),
                    entry<Metric, metrics::root_mean_squared_error>("RootMeanSquaredError"),
                    entry<Metric, metrics::sparse_categorical_accuracy>("SparseCategoricalAccuracy"),
                    entry<Metric, metrics::sparse_categorical_crossentropy>("SparseCategoricalCrossentropy"),
                    entry<Metric, metrics::sparse_top_k_categorical_accuracy>("SparseTopKCategoricalAccuracy"),
                    entry<Metric, metrics::squared_hinge>("SquaredHinge"),
                    entry<Metric, metrics::sum>("Sum"),
                    entry<Metric, metrics::top_k_categorical_accuracy>("TopKCategoricalAccuracy"),
                });
  return table;
}

template <> const Registry<Optimizer>& registry() {
  static const Registry<Optimizer> table("optimizer",
                                         {
                                             entry<Optimizer, optimizers::adadelta>("Adadelta"),
                                             entry<Optimizer, optimizers::adagrad>("Adagrad"),
                                             entry<Optimizer, optimizers::adam>("Adam"),
                                             entry<Optimizer, optimizers::adamax>("Adamax"),
                                             entry<Optimizer, optimizers::adamw>("AdamW"),
                                             entry<Optimizer, optimizers::ftrl>("Ftrl"),
                                             entry<Optimizer, optimizers::lamb>("Lamb"),
                                             entry<Optimizer, optimizers::lion>("Lion"),
                                             entry<Optimizer, optimizers::loss_scale_optimizer>("LossScaleOptimizer"),
                                             entry<Optimizer, optimizers::nadam>("Nadam"),
                                             entry<Optimizer, optimizers::rmsprop>("RMSprop"),
                                             entry<Optimizer, optimizers::sgd>("SGD"),
                                         });
  return table;
}

template <> const Registry<LearningRateSchedule>& registry() {
  using Schedule = LearningRateSchedule;
  static const Registry<Schedule> table(
      "schedule", {
                      entry<Schedule, schedules::cosine_decay>("CosineDecay"),
                      entry<Schedule, schedules::cosine_decay_restarts>("CosineDecayRestarts"),
                      entry<Schedule, schedules::exponential_decay>("ExponentialDecay"),
                      entry<Schedule, schedules::inverse_time_decay>("InverseTimeDecay"),
                      entry<Schedule, schedules::piecewise_constant_decay>("PiecewiseConstantDecay"),
                      entry<Schedule, schedules::polynomial_decay>("PolynomialDecay"),
                  });
  return table;
}

template <> const Registry<Initializer>& registry() {
  static const Registry<Initializer> table("initializer",
                                           {
                                               entry<Initializer, initializers::constant>("Constant"),
                                               entry<Initializer, initializers::glorot_normal>("GlorotNormal"),
                                               entry<Initializer, initializers::glorot_uniform>("GlorotUniform"),
                                               entry<Initializer, initializers::he_normal>("HeNormal"),
                                               entry<Initializer, initializers::he_uniform>("HeUniform"),
                                               entry<Initializer, initializers::lecun_normal>("LecunNormal"),
                                               entry<Initializer, initializers::lecun_uniform>("LecunUniform"),
                                               entry<Initializer, initializers::ones>("Ones"),
                                               entry<Initializer, initializers::orthogonal>("Orthogonal"),
                                               entry<Initializer, initializers::random_normal>("RandomNormal"),
                                               entry<Initializer, initializers::random_uniform>("RandomUniform"),
                                               entry<Initializer, initializers::truncated_normal>("TruncatedNormal"),
                                               entry<Initializer, initializers::zeros>("Zeros"),
                                           });
  return table;
}

template <> const Registry<Regularizer>& registry() {
  static const Registry<Regularizer> table("regularizer",
                                           {
                                               entry<Regularizer, regularizers::l1>("L1"),
                                               entry<Regularizer, regularizers::l1_l2>("L1L2"),
                                               entry<Regularizer, regularizers::l2>("L2"),
                                               entry<Regularizer, regularizers::orthogonal>("OrthogonalRegularizer"),
                                           });
  return table;
}

namespace {

/// What has changed since the object was made.
template <class T> void update_config(const T&, Json&) {}
void update_config(const Layer& layer, Json& config) {
  config["name"] = layer.name();
  // Of layers without variables it is not an option, but a flag like that of others.
  if (config.contains("trainable") || !layer.trainable()) config["trainable"] = layer.trainable();
  if (config.contains("dtype")) config["dtype"] = layer.dtype_policy().name();
}
void update_config(const Optimizer& optimizer, Json& config) {
  if (config["learning_rate"].is_number()) config["learning_rate"] = optimizer.learning_rate();
}

}  // namespace

template <class T> Json object_to_json(const T& object) {
  if constexpr (std::is_same_v<T, Layer>)
    if (const auto* model = dynamic_cast<const Model*>(&object)) return model_to_json(*model);
  const Description& description = object.description();
  check(!description.empty(), ErrorKind::value, registry<T>().kind(),
        "an object of a class that is not one of Étude's - expected one that can be made of its options - "
        "save the model's weights instead, and make the model in code.");
  Json config = registry<T>().find(description.class_name()).config_of(description);
  update_config(object, config);
  Json json{{"class_name", description.class_name()}, {"config", std::move(config)}};
  if constexpr (std::is_same_v<T, Optimizer>)
    if (const auto& scale = object.loss_scale())
      return {{"class_name", "LossScaleOptimizer"},
              {"config",
               {{"inner_optimizer", std::move(json)},
                {"initial_scale", scale->initial_scale()},
                {"dynamic_growth_steps", scale->growth_steps()}}}};
  return json;
}

namespace {

/// Any layer may be frozen, one that has no option for it too.
LayerPtr layer_with_flag(const RegistryEntry<Layer>& entry, const std::string& class_name, const Json& config) {
  Json options = config;
  options.erase("trainable");
  bool trainable = true;
  read_field(config["trainable"], trainable, {class_name, "trainable"});
  const LayerPtr layer = entry.make(class_name, options);
  layer->set_own_trainable(trainable);
  return layer;
}

}  // namespace

template <class T> std::shared_ptr<T> object_from_json(const Json& json) {
  const std::string& class_name = class_name_in(json);
  if constexpr (std::is_same_v<T, Layer>)
    if (is_model_class(class_name)) return model_from_json(json);
  const RegistryEntry<T>& entry = registry<T>().find(class_name);
  const Json& config = config_in(json);
  if constexpr (std::is_same_v<T, Layer>)
    if (config.contains("trainable")) return layer_with_flag(entry, class_name, config);
  return entry.make(class_name, config);
}

template <class T> std::string to_json(const T& object, int indent) {
  return json_text(object_to_json<T>(object), indent);
}
template <class T> std::shared_ptr<T> from_json(std::string_view text) {
  return object_from_json<T>(parse_json(text, "config"));
}
template <class T> std::vector<std::string> class_names() { return registry<T>().names(); }

// What other files call.
template std::string to_json(const Layer&, int);
template std::shared_ptr<Layer> from_json(std::string_view);
template std::vector<std::string> class_names<Layer>();
template std::string to_json(const Loss&, int);
template std::shared_ptr<Loss> from_json(std::string_view);
template std::vector<std::string> class_names<Loss>();
template std::string to_json(const Metric&, int);
template std::shared_ptr<Metric> from_json(std::string_view);
template std::vector<std::string> class_names<Metric>();
template std::string to_json(const Optimizer&, int);
template std::shared_ptr<Optimizer> from_json(std::string_view);
template std::vector<std::string> class_names<Optimizer>();
template std::string to_json(const LearningRateSchedule&, int);
template std::shared_ptr<LearningRateSchedule> from_json(std::string_view);
template std::vector<std::string> class_names<LearningRateSchedule>();
template std::string to_json(const Initializer&, int);
template std::shared_ptr<Initializer> from_json(std::string_view);
template std::vector<std::string> class_names<Initializer>();
template std::string to_json(const Regularizer&, int);
template std::shared_ptr<Regularizer> from_json(std::string_view);
template std::vector<std::string> class_names<Regularizer>();
template Json object_to_json(const Layer&);
template std::shared_ptr<Layer> object_from_json(const Json&);
template Json object_to_json(const Loss&);
template std::shared_ptr<Loss> object_from_json(const Json&);
template Json object_to_json(const Metric&);
template std::shared_ptr<Metric> object_from_json(const Json&);
template Json object_to_json(const Optimizer&);
template std::shared_ptr<Optimizer> object_from_json(const Json&);

}  // namespace etude
