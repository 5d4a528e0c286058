#include "etude/saving/registry.hpp"

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

template <> const Registry<Layer>& registry() {
  static const Registry<Layer> table(
      "layer", {
                   entry<Layer>("Activation", static_cast<LayerPtr (*)(ActivationOptions)>(layers::activation)),
                   entry<Layer>("Add", layers::add),
                   entry<Layer>("BatchNormalization", layers::batch_normalization),
                   entry<Layer>("Concatenate", layers::concatenate),
                   entry<Layer>("Conv2D", layers::conv2d),
                   entry<Layer>("Dense", layers::dense),
                   entry<Layer>("Dropout", static_cast<LayerPtr (*)(DropoutOptions)>(layers::dropout)),
                   entry<Layer>("Embedding", layers::embedding),
                   entry<Layer>("Flatten", layers::flatten),
                   entry<Layer>("GlobalAveragePooling1D", layers::global_average_pooling1d),
                   entry<Layer>("GRU", layers::gru),
                   entry<Layer>("LayerNormalization", layers::layer_normalization),
                   entry<Layer>("LSTM", layers::lstm),
                   entry<Layer>("MaxPooling2D", layers::max_pooling2d),
                   entry<Layer>("MultiHeadAttention", layers::multi_head_attention),
                   entry<Layer>("Rescaling", layers::rescaling),
                   entry<Layer>("SimpleRNN", layers::simple_rnn),
               });
  return table;
}

template <> const Registry<Loss>& registry() {
  static const Registry<Loss> table(
      "loss", {
                  entry<Loss>("BinaryCrossentropy", losses::binary_crossentropy),
                  entry<Loss>("BinaryFocalCrossentropy", losses::binary_focal_crossentropy),
                  entry<Loss>("CategoricalCrossentropy", losses::categorical_crossentropy),
                  entry<Loss>("CategoricalFocalCrossentropy", losses::categorical_focal_crossentropy),
                  entry<Loss>("CategoricalGeneralizedCrossEntropy", losses::categorical_generalized_cross_entropy),
                  entry<Loss>("CategoricalHinge", losses::categorical_hinge),
                  entry<Loss>("CosineSimilarity", losses::cosine_similarity),
                  entry<Loss>("Dice", losses::dice),
                  entry<Loss>("Hinge", losses::hinge),
                  entry<Loss>("Huber", losses::huber),
                  entry<Loss>("KLDivergence", losses::kl_divergence),
                  entry<Loss>("LogCosh", losses::log_cosh),
                  entry<Loss>("MeanAbsoluteError", losses::mean_absolute_error),
                  entry<Loss>("MeanAbsolutePercentageError", losses::mean_absolute_percentage_error),
                  entry<Loss>("MeanSquaredError", losses::mean_squared_error),
                  entry<Loss>("MeanSquaredLogarithmicError", losses::mean_squared_logarithmic_error),
                  entry<Loss>("Poisson", losses::poisson),
                  entry<Loss>("SparseCategoricalCrossentropy", losses::sparse_categorical_crossentropy),
                  entry<Loss>("SquaredHinge", losses::squared_hinge),
                  entry<Loss>("Tversky", losses::tversky),
              });
  return table;
}

template <> const Registry<Metric>& registry() {
  static const Registry<Metric> table(
      "metric", {
                    entry<Metric>("Accuracy", metrics::accuracy),
                    entry<Metric>("BinaryAccuracy", metrics::binary_accuracy),
                    entry<Metric>("BinaryCrossentropy", metrics::binary_crossentropy),
                    entry<Metric>("CategoricalAccuracy", metrics::categorical_accuracy),
                    entry<Metric>("CategoricalCrossentropy", metrics::categorical_crossentropy),
                    entry<Metric>("CategoricalHinge", metrics::categorical_hinge),
                    entry<Metric>("CosineSimilarity", metrics::cosine_similarity),
                    entry<Metric>("Hinge", metrics::hinge),
                    entry<Metric>("KLDivergence", metrics::kl_divergence),
                    entry<Metric>("LogCoshError", metrics::log_cosh_error),
                    entry<Metric>("Mean", metrics::mean),
                    entry<Metric>("MeanAbsoluteError", metrics::mean_absolute_error),
                    entry<Metric>("MeanAbsolutePercentageError", metrics::mean_absolute_percentage_error),
                    entry<Metric>("MeanSquaredError", metrics::mean_squared_error),
                    entry<Metric>("MeanSquaredLogarithmicError", metrics::mean_squared_logarithmic_error),
                    entry<Metric>("Poisson", metrics::poisson),
                    entry<Metric>("RootMeanSquaredError", metrics::root_mean_squared_error),
                    entry<Metric>("SparseCategoricalAccuracy", metrics::sparse_categorical_accuracy),
                    entry<Metric>("SparseCategoricalCrossentropy", metrics::sparse_categorical_crossentropy),
                    entry<Metric>("SparseTopKCategoricalAccuracy", metrics::sparse_top_k_categorical_accuracy),
                    entry<Metric>("SquaredHinge", metrics::squared_hinge),
                    entry<Metric>("Sum", metrics::sum),
                    entry<Metric>("TopKCategoricalAccuracy", metrics::top_k_categorical_accuracy),
                });
  return table;
}

template <> const Registry<Optimizer>& registry() {
  static const Registry<Optimizer> table("optimizer", {
                                                          entry<Optimizer>("Adadelta", optimizers::adadelta),
                                                          entry<Optimizer>("Adagrad", optimizers::adagrad),
                                                          entry<Optimizer>("Adam", optimizers::adam),
                                                          entry<Optimizer>("Adamax", optimizers::adamax),
                                                          entry<Optimizer>("AdamW", optimizers::adamw),
                                                          entry<Optimizer>("Ftrl", optimizers::ftrl),
                                                          entry<Optimizer>("Lamb", optimizers::lamb),
                                                          entry<Optimizer>("Lion", optimizers::lion),
                                                          entry<Optimizer>("Nadam", optimizers::nadam),
                                                          entry<Optimizer>("RMSprop", optimizers::rmsprop),
                                                          entry<Optimizer>("SGD", optimizers::sgd),
                                                      });
  return table;
}

template <> const Registry<LearningRateSchedule>& registry() {
  using Schedule = LearningRateSchedule;
  static const Registry<Schedule> table(
      "schedule", {
                      entry<Schedule>("CosineDecay", schedules::cosine_decay),
                      entry<Schedule>("CosineDecayRestarts", schedules::cosine_decay_restarts),
                      entry<Schedule>("ExponentialDecay", schedules::exponential_decay),
                      entry<Schedule>("InverseTimeDecay", schedules::inverse_time_decay),
                      entry<Schedule>("PiecewiseConstantDecay", schedules::piecewise_constant_decay),
                      entry<Schedule>("PolynomialDecay", schedules::polynomial_decay),
                  });
  return table;
}

template <> const Registry<Initializer>& registry() {
  static const Registry<Initializer> table("initializer",
                                           {
                                               entry<Initializer>("Constant", initializers::constant),
                                               entry<Initializer>("GlorotNormal", initializers::glorot_normal),
                                               entry<Initializer>("GlorotUniform", initializers::glorot_uniform),
                                               entry<Initializer>("HeNormal", initializers::he_normal),
                                               entry<Initializer>("HeUniform", initializers::he_uniform),
                                               entry<Initializer>("LecunNormal", initializers::lecun_normal),
                                               entry<Initializer>("LecunUniform", initializers::lecun_uniform),
                                               entry<Initializer>("Ones", initializers::ones),
                                               entry<Initializer>("Orthogonal", initializers::orthogonal),
                                               entry<Initializer>("RandomNormal", initializers::random_normal),
                                               entry<Initializer>("RandomUniform", initializers::random_uniform),
                                               entry<Initializer>("TruncatedNormal", initializers::truncated_normal),
                                               entry<Initializer>("Zeros", initializers::zeros),
                                           });
  return table;
}

template <> const Registry<Regularizer>& registry() {
  static const Registry<Regularizer> table("regularizer",
                                           {
                                               entry<Regularizer>("L1", regularizers::l1),
                                               entry<Regularizer>("L1L2", regularizers::l1_l2),
                                               entry<Regularizer>("L2", regularizers::l2),
                                               entry<Regularizer>("OrthogonalRegularizer", regularizers::orthogonal),
                                           });
  return table;
}

namespace {

/// What has changed since the object was made.
template <class T> void update_config(const T&, Json&) {}
void update_config(const Layer& layer, Json& config) {
  config["name"] = layer.name();
  if (config.contains("trainable")) config["trainable"] = layer.trainable();
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
  return {{"class_name", description.class_name()}, {"config", std::move(config)}};
}

template <class T> std::shared_ptr<T> object_from_json(const Json& json) {
  const std::string& class_name = class_name_in(json);
  if constexpr (std::is_same_v<T, Layer>)
    if (is_model_class(class_name)) return model_from_json(json);
  return registry<T>().find(class_name).make(config_in(json));
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
