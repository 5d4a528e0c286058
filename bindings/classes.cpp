/// Keras's classes: constructors and methods.
#include "bind.hpp"
#include "dicts.hpp"
#include "option_types.hpp"
#include "user_functions.hpp"

namespace etude::js {
namespace {

/// A Value within a step; data outside.
struct ValueOrData : val {};

/// Calls a layer on a Value, or on lists and objects of them, within a step, or on data outside. Several outputs are
/// lists and objects, too.
val call_layer(Layer& layer, val given, bool training) {
  const Where where{"Layer.call", "x"};
  auto* user = dynamic_cast<UserLayer*>(&layer);
  std::vector<std::string>* call_names = user ? user->call_names() : nullptr;
  if (call_names) call_names->clear();
  const val x = listed(layer, given, call_names);
  bool values = Conversion<Value>::is(x), list = false;
  if (x.isArray()) {
    const auto length = x["length"].as<unsigned>();
    for (unsigned i = 0; i < length && !values; ++i) values = Conversion<Value>::is(x[i]);
    list = values || !x.strictlyEquals(given) || (length > 0 && !x[0].isNumber() && !x[0].isArray());
  }
  if (values)
    return to_js(layer(list ? from_js<std::vector<Value>>(x, where) : std::vector{from_js<Value>(x, where)}, training));
  const std::vector<Tensor> outputs =
      layer.call_all(list ? from_js<std::vector<Tensor>>(x, where) : std::vector{from_js<Tensor>(x, where)}, training);
  const std::vector<std::string> keys = layer.output_keys();
  if (!keys.empty() && keys.size() == outputs.size()) return packed(keys, to_js(outputs));
  return outputs.size() == 1 ? to_js(outputs.front()) : to_js(outputs);
}

/// Calls attention on Values within a step: {output, scores}.
StepLogs attend(ProjectedAttention& attention, AttentionInputs inputs) {
  const Attended attended = attention.attend(inputs);
  return {{"output", attended.output}, {"scores", attended.scores}};
}

/// The value of a variable: within a step, its current Value; within a layer's `call`, in the layer's compute dtype.
Value read(Variable& variable) {
  const Value value = Graph::current().read(variable);
  return Autocast::current && is_floating(value.dtype()) ? ops::cast(value, *Autocast::current) : value;
}
void assign(Variable& variable, ValueOrData value) {
  if (!Conversion<Value>::is(value)) return variable.assign(from_js<Tensor>(value, {"Variable.assign", "value"}));
  Graph::current().assign(variable, from_js<Value>(value, {"Variable.assign", "value"}));
}

/// The JavaScript name of a kind of classes, and its object of options, which the call consumes.
struct Family {
  std::string_view name;
  ClassTable& (*table)();
  val (*make)(const ClassEntry& entry, void* options);
};
template <class Kind> val make_as(const ClassEntry& entry, void* options) {
  return to_js(make_of<Kind>(entry, options));
}
template <class Kind> constexpr Family family(std::string_view name) {
  return {name, class_table<Kind>, make_as<Kind>};
}

const Family& family_of(std::string_view name) {
  static constexpr Family all[] = {family<Layer>("layers"),
                                   family<Loss>("losses"),
                                   family<Metric>("metrics"),
                                   family<Optimizer>("optimizers"),
                                   family<LearningRateSchedule>("schedules"),
                                   family<Initializer>("initializers"),
                                   family<Regularizer>("regularizers"),
                                   family<Constraint>("constraints"),
                                   family<Callback>("callbacks")};
  const auto* found = std::ranges::find(all, name, &Family::name);
  check(found != std::end(all), ErrorKind::value, "classes", '"', name,
        "\" - expected a family of classes - pass one such as \"layers\".");
  return *found;
}

/// et.layers.dense({units: 10}) is make("layers", "dense", {units: 10}).
val make(std::string family_name, std::string name, val given) {
  const Family& family = family_of(family_name);
  const auto& entries = family.table().entries();
  const auto found =
      std::ranges::find_if(entries, [&](const ClassEntry* entry) { return camel_case(entry->factory) == name; });
  const std::string where = family_name + '.' + name;
  check(found != entries.end(), ErrorKind::value, where, "no such function - expected one of the family - see et.",
        family_name, '.');
  set_place(where);
  const auto options = (*found)->options();
  read_options((*found)->fields, options.get(), given, {where, "options"});
  return family.make(**found, options.get());
}

}  // namespace

template <> struct Conversion<ValueOrData> {
  static ValueOrData from(const val& value, const Where&) { return {value}; }
  static std::string given() { return "Value | TensorLike"; }
};

EMSCRIPTEN_BINDINGS(classes) {
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
  property<"Layer.input", [](Layer& self) { return self.input(); }>(layer);
  property<"Layer.output", [](Layer& self) { return self.output(); }>(layer);
  property<"Layer.inputs", [](Layer& self) { return self.inputs(); }>(layer);
  property<"Layer.outputs", [](Layer& self) { return self.outputs(); }>(layer);
  property<"Layer.output_keys", [](Layer& self) { return self.output_keys(); }>(layer);
  property<"Layer.trainable", [](Layer& self) { return self.trainable(); },
           [](Layer& self, bool trainable) { self.set_trainable(trainable); }>(layer);
  property<"Layer.supports_masking", [](Layer& self) { return self.supports_masking(); },
           [](Layer& self, bool supports) { self.set_supports_masking(supports); }>(layer);
  property<"Layer.variables", [](Layer& self) { return self.variables(); }>(layer);
  property<"Layer.trainable_variables", [](Layer& self) { return self.trainable_variables(); }>(layer);
  property<"Layer.non_trainable_variables", [](Layer& self) { return self.non_trainable_variables(); }>(layer);
  method<"Layer.call(x, training?)", call_layer>(layer);
  method<"Layer.apply(inputs)", [](Layer& self, SymbolicInputs inputs) { return self.apply(inputs.of(self)); }>(layer);
  method<"Layer.apply_all(inputs)", [](Layer& self, SymbolicInputs inputs) { return self.apply_all(inputs.of(self)); }>(
      layer);
  method<"Layer.count_params()", [](Layer& self) { return self.count_params(); }>(layer);
  method<"Layer.get_weights()", [](Layer& self) { return self.get_weights(); }>(layer);
  method<"Layer.set_weights(weights)", [](Layer& self, std::vector<Tensor> weights) { self.set_weights(weights); }>(
      layer);
  auto recurrent = held<Recurrent, emscripten::base<Layer>>();
  method<"Recurrent.reset_state()", [](Recurrent& self) { self.reset_state(); }>(recurrent);
  auto attention = held<MultiHeadAttention, emscripten::base<Layer>>();
  method<"MultiHeadAttention.attend(inputs)",
         [](MultiHeadAttention& self, AttentionInputs inputs) { return attend(self, inputs); }>(attention);
  auto grouped = held<GroupedQueryAttention, emscripten::base<Layer>>();
  method<"GroupedQueryAttention.attend(inputs)",
         [](GroupedQueryAttention& self, AttentionInputs inputs) { return attend(self, inputs); }>(grouped);
  auto embedding = held<ReversibleEmbedding, emscripten::base<Layer>>();
  method<"ReversibleEmbedding.reverse(x)", [](ReversibleEmbedding& self, Value x) { return self.reverse(x); }>(
      embedding);

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
  method<"Metric.merge_state(metrics)",
         [](Metric& self, const std::vector<MetricPtr>& metrics) { self.merge_state(metrics); }>(metric);
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
         [](Optimizer& self, Gradients gradients, std::vector<Variable> variables) {
           self.apply(gradients.values, variables);
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
  held<Constraint>();

  bind<"input(options)", layers::input>();
  bind<"classes(family)", [](std::string family) {
    std::vector<std::string> names;
    for (const ClassEntry* entry : family_of(family).table().entries()) names.push_back(camel_case(entry->factory));
    return names;
  }>();
  bind<"make(family, name, options?)", make>();

  // The other activations are ops.
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
}

}  // namespace etude::js
