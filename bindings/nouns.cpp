/// Layers, activations, losses, metrics, optimizers, schedules, initializers: Keras's nouns.
#include "bind.hpp"

namespace etude::js {
namespace {

/// A Value within a step; data outside.
struct ValueOrData : val {};

/// A layer of a Value, or a list of them, within a step, or of data outside; a list of several outputs.
val call_layer(Layer& layer, val x, bool training) {
  const Where where{"Layer.call", "x"};
  bool values = Crossing<Value>::is(x), list = false;
  if (x.isArray()) {
    const auto length = x["length"].as<unsigned>();
    for (unsigned i = 0; i < length && !values; ++i) values = Crossing<Value>::is(x[i]);
    list = values || (length > 0 && !x[0].isNumber() && !x[0].isArray());
  }
  if (values)
    return to_js(layer(list ? from_js<std::vector<Value>>(x, where) : std::vector{from_js<Value>(x, where)}, training));
  const std::vector<Tensor> outputs =
      layer.call_all(list ? from_js<std::vector<Tensor>>(x, where) : std::vector{from_js<Tensor>(x, where)}, training);
  return outputs.size() == 1 ? to_js(outputs.front()) : to_js(outputs);
}

/// What layers are applied to in a description: one SymbolicTensor, or a list.
struct SymbolicInputs {
  std::vector<SymbolicTensor> tensors;
};

/// What attention makes of Values within a step: {output, scores}.
StepLogs attend(MultiHeadAttention& attention, AttentionInputs inputs) {
  const Attended attended = attention.attend(inputs);
  return {{"output", attended.output}, {"scores", attended.scores}};
}

/// The value of a variable within a step; what it is after it.
Value read(Variable& variable) { return Graph::current().read(variable); }
void assign(Variable& variable, ValueOrData value) {
  if (!Crossing<Value>::is(value)) return variable.assign(from_js<Tensor>(value, {"Variable.assign", "value"}));
  Graph::current().assign(variable, from_js<Value>(value, {"Variable.assign", "value"}));
}

}  // namespace

template <> struct Crossing<ValueOrData> {
  static ValueOrData from(const val& value, const Where&) { return {value}; }
  static std::string given() { return "Value | TensorLike"; }
};

template <> struct Crossing<SymbolicInputs> {
  static SymbolicInputs from(const val& value, const Where& where) {
    if (value.isArray()) return {from_js<std::vector<SymbolicTensor>>(value, where)};
    return {{from_js<SymbolicTensor>(value, where)}};
  }
  static std::string given() { return "SymbolicTensor | SymbolicTensor[]"; }
};

EMSCRIPTEN_BINDINGS(nouns) {
  if (in_worker()) return;
  auto variable = held<Variable>();
  property<"Variable.name", [](Variable& self) { return self.name(); }>(variable);
  property<"Variable.shape", [](Variable& self) { return self.shape(); }>(variable);
  property<"Variable.dtype", [](Variable& self) { return self.dtype(); }>(variable);
  method<"Variable.value()", [](Variable& self) { return self.value(); }>(variable);
  method<"Variable.assign(value)", assign>(variable);
  method<"Variable.read()", read>(variable);
  bind<"variable(initial_value, trainable?, name?)",
       [](Tensor initial_value, std::optional<bool> trainable, std::optional<std::string> name) {
         return Variable(name.value_or("variable"), initial_value, trainable.value_or(true));
       }>();

  auto symbolic = held<SymbolicTensor>();
  property<"SymbolicTensor.name", [](SymbolicTensor& self) { return self.name(); }>(symbolic);
  property<"SymbolicTensor.shape", [](SymbolicTensor& self) { return self.shape(); }>(symbolic);
  property<"SymbolicTensor.dtype", [](SymbolicTensor& self) { return self.dtype(); }>(symbolic);

  auto layer = held<Layer>();
  property<"Layer.name", [](Layer& self) { return self.name(); }>(layer);
  property<"Layer.class_name", [](Layer& self) { return std::string(self.class_name()); }>(layer);
  property<"Layer.built", [](Layer& self) { return self.built(); }>(layer);
  property<"Layer.output_shape", [](Layer& self) { return self.output_shape(); }>(layer);
  property<"Layer.trainable", [](Layer& self) { return self.trainable(); },
           [](Layer& self, bool trainable) { self.set_trainable(trainable); }>(layer);
  property<"Layer.variables", [](Layer& self) { return self.variables(); }>(layer);
  property<"Layer.trainable_variables", [](Layer& self) { return self.trainable_variables(); }>(layer);
  property<"Layer.non_trainable_variables", [](Layer& self) { return self.non_trainable_variables(); }>(layer);
  method<"Layer.call(x, training?)", call_layer>(layer);
  method<"Layer.apply(inputs)", [](Layer& self, SymbolicInputs inputs) { return self.apply(inputs.tensors); }>(layer);
  method<"Layer.apply_all(inputs)", [](Layer& self, SymbolicInputs inputs) { return self.apply_all(inputs.tensors); }>(
      layer);
  method<"Layer.count_params()", [](Layer& self) { return self.count_params(); }>(layer);
  method<"Layer.get_weights()", [](Layer& self) { return self.get_weights(); }>(layer);
  method<"Layer.set_weights(weights)", [](Layer& self, std::vector<Tensor> weights) { self.set_weights(weights); }>(
      layer);
  auto recurrent = held<Recurrent, emscripten::base<Layer>>();
  method<"Recurrent.reset_state()", [](Recurrent& self) { self.reset_state(); }>(recurrent);
  auto attention = held<MultiHeadAttention, emscripten::base<Layer>>();
  method<"MultiHeadAttention.attend(inputs)", attend>(attention);

  auto loss = held<Loss>();
  property<"Loss.name", [](Loss& self) { return self.name(); }>(loss);
  method<"Loss.call(y_true, y_pred, sample_weight?)",
         [](Loss& self, Value y_true, Value y_pred, Value weight) { return self(y_true, y_pred, weight); }>(loss);

  auto metric = held<Metric>();
  property<"Metric.name", [](Metric& self) { return self.name(); }>(metric);
  property<"Metric.variables", [](Metric& self) { return self.variables(); }>(metric);
  method<"Metric.update_state(y_true, y_pred, sample_weight?)",
         [](Metric& self, Value y_true, Value y_pred, Value weight) { self.update_state(y_true, y_pred, weight); }>(
      metric);
  method<"Metric.result()", [](Metric& self) { return self.result(); }>(metric);
  method<"Metric.reset_state()", [](Metric& self) { self.reset_state(); }>(metric);
  auto mean = held<Mean, emscripten::base<Metric>>();
  method<"Mean.update(values, sample_weight?)",
         [](Mean& self, Value values, Value weight) { self.update(values, weight); }>(mean);
  auto sum = held<Sum, emscripten::base<Metric>>();
  method<"Sum.update(values, sample_weight?)",
         [](Sum& self, Value values, Value weight) { self.update(values, weight); }>(sum);

  auto optimizer = held<Optimizer>();
  property<"Optimizer.name", [](Optimizer& self) { return self.name(); }>(optimizer);
  property<"Optimizer.iterations", [](Optimizer& self) { return self.iterations(); }>(optimizer);
  property<"Optimizer.variables", [](Optimizer& self) { return self.variables(); }>(optimizer);
  property<"Optimizer.learning_rate", [](Optimizer& self) { return self.learning_rate(); },
           [](Optimizer& self, double rate) { self.set_learning_rate(rate); }>(optimizer);
  method<"Optimizer.apply(gradients, variables)",
         [](Optimizer& self, std::vector<Value> gradients, std::vector<Variable> variables) {
           self.apply(gradients, variables);
         }>(optimizer);
  method<"Optimizer.scale_loss(loss)", [](Optimizer& self, Value loss) { return self.scale_loss(loss); }>(optimizer);
  method<"Optimizer.exclude_from_weight_decay(variables, names?)",
         [](Optimizer& self, std::vector<Variable> variables, std::vector<std::string> names) {
           self.exclude_from_weight_decay(variables, names);
         }>(optimizer);
  method<"Optimizer.finalize_variable_values(variables)",
         [](Optimizer& self, std::vector<Variable> variables) { self.finalize_variable_values(variables); }>(optimizer);

  auto schedule = held<LearningRateSchedule>();
  method<"LearningRateSchedule.at(step)", [](LearningRateSchedule& self, std::int64_t step) { return self.at(step); }>(
      schedule);

  held<Initializer>();
  held<Regularizer>();

  bind<"layers.dense(options)", layers::dense>();
  bind<"layers.conv2d(options)", layers::conv2d>();
  bind<"layers.max_pooling2d(options?)", layers::max_pooling2d>();
  bind<"layers.activation(options)",
       [](ActivationOptions options) { return layers::activation(std::move(options)); }>();
  bind<"input(options)", layers::input>();
  bind<"layers.embedding(options)", layers::embedding>();
  bind<"layers.concatenate(options?)", layers::concatenate>();
  bind<"layers.batch_normalization(options?)", layers::batch_normalization>();
  bind<"layers.flatten(options?)", layers::flatten>();
  bind<"layers.dropout(options)", [](DropoutOptions options) { return layers::dropout(std::move(options)); }>();
  bind<"layers.gaussian_noise(options)", layers::gaussian_noise>();
  bind<"layers.rescaling(options)", layers::rescaling>();
  bind<"layers.lstm(options)", layers::lstm>();
  bind<"layers.gru(options)", layers::gru>();
  bind<"layers.simple_rnn(options)", layers::simple_rnn>();
  bind<"layers.add(options?)", layers::add>();
  bind<"layers.layer_normalization(options?)", layers::layer_normalization>();
  bind<"layers.global_average_pooling1d(options?)", layers::global_average_pooling1d>();
  bind<"layers.multi_head_attention(options)", layers::multi_head_attention>();

  // The others are ops.
  bind<"activations.relu(x, options?)", activations::relu>();
  bind<"activations.leaky_relu(x, options?)", activations::leaky_relu>();
  bind<"activations.elu(x, options?)", activations::elu>();
  bind<"activations.celu(x, options?)", activations::celu>();
  bind<"activations.gelu(x, options?)", activations::gelu>();
  bind<"activations.threshold(x, options?)", activations::threshold>();
  bind<"activations.hard_shrink(x, options?)", activations::hard_shrink>();
  bind<"activations.soft_shrink(x, options?)", activations::soft_shrink>();
  bind<"activations.squareplus(x, options?)", activations::squareplus>();
  bind<"activations.selu(x)", activations::selu>();
  bind<"activations.silu(x)", activations::silu>();
  bind<"activations.mish(x)", activations::mish>();
  bind<"activations.softsign(x)", activations::softsign>();
  bind<"activations.relu6(x)", activations::relu6>();
  bind<"activations.hard_sigmoid(x)", activations::hard_sigmoid>();
  bind<"activations.hard_silu(x)", activations::hard_silu>();
  bind<"activations.hard_tanh(x)", activations::hard_tanh>();
  bind<"activations.tanh_shrink(x)", activations::tanh_shrink>();
  bind<"activations.log_sigmoid(x)", activations::log_sigmoid>();
  bind<"activations.sparse_plus(x)", activations::sparse_plus>();
  bind<"activations.sparse_sigmoid(x)", activations::sparse_sigmoid>();
  bind<"activations.glu(x, axis?)", [](Value x, std::optional<std::int64_t> axis) {
    return activations::glu(x, static_cast<std::ptrdiff_t>(axis.value_or(-1)));
  }>();
  bind<"activations.sparsemax(x, axis?)", [](Value x, std::optional<std::int64_t> axis) {
    return activations::sparsemax(x, static_cast<std::ptrdiff_t>(axis.value_or(-1)));
  }>();

  bind<"losses.mean_squared_error(options?)", losses::mean_squared_error>();
  bind<"losses.mean_absolute_error(options?)", losses::mean_absolute_error>();
  bind<"losses.mean_absolute_percentage_error(options?)", losses::mean_absolute_percentage_error>();
  bind<"losses.mean_squared_logarithmic_error(options?)", losses::mean_squared_logarithmic_error>();
  bind<"losses.huber(options?)", losses::huber>();
  bind<"losses.log_cosh(options?)", losses::log_cosh>();
  bind<"losses.cosine_similarity(options?)", losses::cosine_similarity>();
  bind<"losses.hinge(options?)", losses::hinge>();
  bind<"losses.squared_hinge(options?)", losses::squared_hinge>();
  bind<"losses.categorical_hinge(options?)", losses::categorical_hinge>();
  bind<"losses.kl_divergence(options?)", losses::kl_divergence>();
  bind<"losses.poisson(options?)", losses::poisson>();
  bind<"losses.binary_crossentropy(options?)", losses::binary_crossentropy>();
  bind<"losses.categorical_crossentropy(options?)", losses::categorical_crossentropy>();
  bind<"losses.sparse_categorical_crossentropy(options?)", losses::sparse_categorical_crossentropy>();
  bind<"losses.binary_focal_crossentropy(options?)", losses::binary_focal_crossentropy>();
  bind<"losses.categorical_focal_crossentropy(options?)", losses::categorical_focal_crossentropy>();
  bind<"losses.categorical_generalized_cross_entropy(options?)", losses::categorical_generalized_cross_entropy>();
  bind<"losses.dice(options?)", losses::dice>();
  bind<"losses.tversky(options?)", losses::tversky>();

  bind<"metrics.accuracy(options?)", metrics::accuracy>();
  bind<"metrics.binary_accuracy(options?)", metrics::binary_accuracy>();
  bind<"metrics.categorical_accuracy(options?)", metrics::categorical_accuracy>();
  bind<"metrics.sparse_categorical_accuracy(options?)", metrics::sparse_categorical_accuracy>();
  bind<"metrics.top_k_categorical_accuracy(options?)", metrics::top_k_categorical_accuracy>();
  bind<"metrics.sparse_top_k_categorical_accuracy(options?)", metrics::sparse_top_k_categorical_accuracy>();
  bind<"metrics.mean(options?)", metrics::mean>();
  bind<"metrics.sum(options?)", metrics::sum>();
  bind<"metrics.mean_squared_error(options?)", metrics::mean_squared_error>();
  bind<"metrics.root_mean_squared_error(options?)", metrics::root_mean_squared_error>();
  bind<"metrics.mean_absolute_error(options?)", metrics::mean_absolute_error>();
  bind<"metrics.mean_absolute_percentage_error(options?)", metrics::mean_absolute_percentage_error>();
  bind<"metrics.mean_squared_logarithmic_error(options?)", metrics::mean_squared_logarithmic_error>();
  bind<"metrics.log_cosh_error(options?)", metrics::log_cosh_error>();
  bind<"metrics.cosine_similarity(options?)", metrics::cosine_similarity>();
  bind<"metrics.hinge(options?)", metrics::hinge>();
  bind<"metrics.squared_hinge(options?)", metrics::squared_hinge>();
  bind<"metrics.categorical_hinge(options?)", metrics::categorical_hinge>();
  bind<"metrics.kl_divergence(options?)", metrics::kl_divergence>();
  bind<"metrics.poisson(options?)", metrics::poisson>();
  bind<"metrics.binary_crossentropy(options?)", metrics::binary_crossentropy>();
  bind<"metrics.categorical_crossentropy(options?)", metrics::categorical_crossentropy>();
  bind<"metrics.sparse_categorical_crossentropy(options?)", metrics::sparse_categorical_crossentropy>();

  bind<"optimizers.sgd(options?)", optimizers::sgd>();
  bind<"optimizers.rmsprop(options?)", optimizers::rmsprop>();
  bind<"optimizers.adam(options?)", optimizers::adam>();
  bind<"optimizers.adamw(options?)", optimizers::adamw>();
  bind<"optimizers.adamax(options?)", optimizers::adamax>();
  bind<"optimizers.nadam(options?)", optimizers::nadam>();
  bind<"optimizers.adagrad(options?)", optimizers::adagrad>();
  bind<"optimizers.adadelta(options?)", optimizers::adadelta>();
  bind<"optimizers.ftrl(options?)", optimizers::ftrl>();
  bind<"optimizers.lion(options?)", optimizers::lion>();
  bind<"optimizers.lamb(options?)", optimizers::lamb>();
  bind<"optimizers.loss_scale_optimizer(options)", optimizers::loss_scale_optimizer>();

  bind<"schedules.exponential_decay(options)", schedules::exponential_decay>();
  bind<"schedules.piecewise_constant_decay(options)", schedules::piecewise_constant_decay>();
  bind<"schedules.polynomial_decay(options)", schedules::polynomial_decay>();
  bind<"schedules.inverse_time_decay(options)", schedules::inverse_time_decay>();
  bind<"schedules.cosine_decay(options)", schedules::cosine_decay>();
  bind<"schedules.cosine_decay_restarts(options)", schedules::cosine_decay_restarts>();

  bind<"regularizers.l1(options?)", regularizers::l1>();
  bind<"regularizers.l2(options?)", regularizers::l2>();
  bind<"regularizers.l1_l2(options?)", regularizers::l1_l2>();
  bind<"regularizers.orthogonal(options?)", regularizers::orthogonal>();

  bind<"initializers.zeros()", initializers::zeros>();
  bind<"initializers.ones()", initializers::ones>();
  bind<"initializers.constant(options?)", initializers::constant>();
  bind<"initializers.random_normal(options?)", initializers::random_normal>();
  bind<"initializers.truncated_normal(options?)", initializers::truncated_normal>();
  bind<"initializers.random_uniform(options?)", initializers::random_uniform>();
  bind<"initializers.glorot_uniform(options?)", initializers::glorot_uniform>();
  bind<"initializers.glorot_normal(options?)", initializers::glorot_normal>();
  bind<"initializers.he_uniform(options?)", initializers::he_uniform>();
  bind<"initializers.he_normal(options?)", initializers::he_normal>();
  bind<"initializers.lecun_uniform(options?)", initializers::lecun_uniform>();
  bind<"initializers.lecun_normal(options?)", initializers::lecun_normal>();
  bind<"initializers.orthogonal(options?)", initializers::orthogonal>();
}

}  // namespace etude::js
