#include "conformance.hpp"
#include "etude/etude.hpp"
#include "etude/ops/elementwise.hpp"
#include "support.hpp"

// The families of one noun each: losses, metrics, activations, layers, optimizers, schedules, initializers.
namespace etude::conformance {
namespace {

using testing::Compiled;

/// (t - p)² without a mean: what Keras tests reductions with.
class ElementwiseSquaredError : public Loss {
 public:
  explicit ElementwiseSquaredError(Reduction reduction) : Loss("elementwise_squared_error", reduction) {}
  Value call(Value y_true, Value y_pred) override { return ops::square(y_true - y_pred); }
};

LossPtr make_loss(const std::string& name, const json& config) {
  json given = config;
  if (given.contains("reduction") && given["reduction"].is_null()) given["reduction"] = "none";
  if (name == "ElementwiseSquaredError")
    return std::make_shared<ElementwiseSquaredError>(
        reduction_from_name(given.value("reduction", "sum_over_batch_size")));
  return make<Loss>(name, given);
}

/// The tensors of those names that a case has, and of each the Value in a step; empty for those that it has not.
class Inputs {
 public:
  Inputs(const json& given, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      places_.push_back(given.contains(name) ? static_cast<std::ptrdiff_t>(tensors.size()) : -1);
      if (given.contains(name)) tensors.push_back(tensor_of(given[name]));
    }
  }
  Value value(std::span<const Value> values, std::size_t name) const {
    return places_[name] < 0 ? Value{} : values[static_cast<std::size_t>(places_[name])];
  }
  std::vector<Tensor> tensors;

 private:
  std::vector<std::ptrdiff_t> places_;
};

Tensor compute(const std::vector<Tensor>& inputs, const testing::Function& function) {
  return testing::run_on(default_device(), inputs, function);
}

}  // namespace

std::string run_loss(const json& test) {
  const LossPtr loss = make_loss(test["target"], test["config"]);
  const Inputs inputs(test["inputs"], {"y_true", "y_pred", "sample_weight", "mask"});
  const auto apply = [&](std::span<const Value> x) {
    return (*loss)(inputs.value(x, 0), inputs.value(x, 1).with_mask(inputs.value(x, 3)), inputs.value(x, 2));
  };
  return difference_from(test["expect"], compute(inputs.tensors, apply));
}

std::string run_metric(const json& test) {
  const MetricPtr metric = make<Metric>(test["target"], test["config"]);
  for (const json& update : test["inputs"]["updates"]) {
    if (update.contains("reset")) {
      metric->reset_state();
      continue;
    }
    const Inputs inputs(update, {"y_true", "y_pred", "sample_weight", "values"});
    Compiled step(inputs.tensors, [&](Graph&, std::span<const Value> x) {
      const Value values = inputs.value(x, 3);
      metric->update_state(inputs.value(x, 0), values ? values : inputs.value(x, 1), inputs.value(x, 2));
      return Compiled::Outcome{};
    });
    step.run(inputs.tensors);
  }
  return difference_from(test["expect"], compute({}, [&](auto) { return metric->result(); }));
}

namespace {

/// An activation with the options of a case.
Activation::Function activation_of(const std::string& name, const json& config) {
  if (config.empty()) return activations::get(name);
  std::vector<std::ptrdiff_t> axes;
  if (config.contains("axis"))
    axes = config["axis"].is_array() ? config["axis"].get<std::vector<std::ptrdiff_t>>()
                                     : std::vector{config["axis"].get<std::ptrdiff_t>()};
  const double slope = config.value("negative_slope", 0.0), alpha = config.value("alpha", 1.0);
  if (name == "relu") {
    activations::ReluOptions options{.negative_slope = slope, .threshold = config.value("threshold", 0.0)};
    if (config.contains("max_value")) options.max_value = config["max_value"].get<double>();
    return [=](Value x) { return activations::relu(x, options); };
  }
  if (name == "leaky_relu") return [=](Value x) { return activations::leaky_relu(x, {.negative_slope = slope}); };
  if (name == "elu") return [=](Value x) { return activations::elu(x, {.alpha = alpha}); };
  if (name == "celu") return [=](Value x) { return activations::celu(x, {.alpha = alpha}); };
  if (name == "softmax") return [=](Value x) { return activations::softmax(x, axes); };
  if (name == "log_softmax") return [=](Value x) { return activations::log_softmax(x, axes); };
  if (name == "sparsemax") return [=](Value x) { return activations::sparsemax(x, axes.at(0)); };
  if (name == "glu") return [=](Value x) { return activations::glu(x, axes.at(0)); };
  throw Missing("activation " + name + " with options");
}

}  // namespace

std::string run_activation(const json& test) {
  const Activation::Function function = activation_of(test["target"], test["config"]);
  return difference_from(test["expect"],
                         compute({tensor_of(test["inputs"]["x"])}, [&](auto x) { return function(x[0]); }));
}

namespace {

/// The weights of a case: a list, or by name.
std::vector<Tensor> weights_of(const json& given, const Layer& layer) {
  std::vector<Tensor> weights;
  for (const json& weight : given.value("_list", json::array())) weights.push_back(tensor_of(weight));
  if (!given.contains("_list"))
    for (const Variable& weight : layer.weights())
      weights.push_back(tensor_of(given[weight.name().substr(weight.name().rfind('/') + 1)]));
  return weights;
}

/// x, and the state that a recurrent layer begins from: one, or a list of them.
std::vector<Tensor> inputs_of(const Tensor& x, const json& options) {
  std::vector<Tensor> inputs{x};
  const json state = options.value("initial_state", json::array());
  if (!state.empty() && !state[0][0].is_array())
    inputs.push_back(tensor_of(state));
  else
    for (const json& one : state) inputs.push_back(tensor_of(one));
  return inputs;
}

}  // namespace

std::string run_layer(const json& test) {
  const LayerPtr layer = make<Layer>(test["target"], test["config"]);
  const auto recurrent = std::dynamic_pointer_cast<Recurrent>(layer);
  json expect = test["expect"];
  std::size_t output = 0;
  if (test["config"].value("return_state", false)) {
    output = expect["index"][0];
    expect.erase("index");
  }
  const auto apply = [&](const std::vector<Tensor>& inputs, bool training) {
    return compute(inputs, [&](std::span<const Value> given) {
      return (*layer)(std::vector(given.begin(), given.end()), training)[output];
    });
  };
  Tensor result;
  for (const json& call : test["inputs"]["calls"]) {
    if (call.contains("reset_state")) {
      recurrent->reset_state();
      continue;
    }
    const Tensor x = tensor_of(call["args"][0]);
    const json options = call.value("kwargs", json::object());
    const bool training = options.value("training", false);
    if (!layer->built()) {
      apply({x}, false);
      if (recurrent) recurrent->reset_state();
    }
    if (test.contains("weights")) layer->set_weights(weights_of(test["weights"], *layer));
    if (call["args"].size() > 1 || options.contains("mask")) {
      const Tensor mask = tensor_of(options.contains("mask") ? options["mask"] : call["args"][1]);
      result = compute({x, mask}, [&](std::span<const Value> given) {
        return (*layer)(given[0].with_mask(ops::cast(given[1], DType::boolean)), training);
      });
    } else {
      result = apply(inputs_of(x, options), training);
    }
  }
  return difference_from(expect, result);
}

std::string run_layer_shape(const json& test) {
  const LayerPtr layer = make<Layer>(test["target"], test["config"]);
  const auto shape_of = [](const json& dims) {
    Shape shape;
    for (const json& extent : dims) shape.append(extent.is_null() ? 2 : extent.get<std::int64_t>());
    return shape;
  };
  const json& expect = test["expect"];
  std::vector<Tensor> inputs;
  const json& shapes = test["inputs"]["input_shape"];
  for (const char* name : {"query_shape", "value_shape"})
    if (shapes.is_object()) inputs.emplace_back(shape_of(shapes[name]), floatx());
  if (shapes.is_array() && shapes.front().is_array())
    for (const json& shape : shapes) inputs.emplace_back(shape_of(shape), floatx());
  else if (shapes.is_array())
    inputs.emplace_back(shape_of(shapes), floatx());
  const Tensor y = (*layer)(inputs);
  const std::size_t trainable = layer->trainable_variables().size(), all = layer->weights().size();
  if (y.shape() != shape_of(expect["output_shape"])) return "output of shape " + y.shape().to_string();
  if (trainable != expect["num_trainable_weights"]) return std::to_string(trainable) + " trainable weights";
  if (all - trainable != expect["num_non_trainable_weights"])
    return std::to_string(all - trainable) + " non-trainable weights";
  std::size_t losses = 0;
  compute(inputs, [&](std::span<const Value> x) -> Value {
    const Value output = (*layer)(std::vector(x.begin(), x.end()));
    losses = layer->regularization_losses().size() + Graph::current().losses().size();
    return output;
  });
  return losses == expect.value("num_losses", std::size_t{0}) ? "" : std::to_string(losses) + " losses";
}

namespace {

/// The variables of a case, under names of which only those that it gives matter.
std::vector<Variable> variables_of(const json& given) {
  std::vector<Variable> variables;
  for (const json& variable : given) {
    const json& name = variable["name"];
    variables.emplace_back(name.is_null() ? "variable_" + std::to_string(variables.size()) : name.get<std::string>(),
                           tensor_of(variable["value"]));
  }
  return variables;
}

/// What a checkpoint looks at: a variable, its average, which is the first kind of slot, or a counter.
Tensor looked_at(const json& checkpoint, const Optimizer& optimizer, const std::vector<Variable>& variables) {
  if (checkpoint.contains("variable")) return variables[checkpoint["variable"].get<std::size_t>()].value();
  if (checkpoint.contains("ema")) return optimizer.slots()[0][checkpoint["ema"].get<std::size_t>()].value();
  check(checkpoint["counter"] == "iterations", ErrorKind::value, "conformance", checkpoint.dump(),
        " - expected a checkpoint that looked_at knows - add it there.");
  return testing::tensor_of({}, DType::float64, {static_cast<double>(optimizer.iterations())});
}

}  // namespace

std::string run_optimizer(const json& test) {
  const json& config = test["config"];
  json options = config;
  options.erase("exclude_from_weight_decay_vars");
  options.erase("exclude_from_weight_decay_names");
  const OptimizerPtr optimizer = make<Optimizer>(test["target"], options);
  const std::vector<Variable> variables = variables_of(test["inputs"]["variables"]);
  std::vector<Variable> excluded;
  for (const json& index : config.value("exclude_from_weight_decay_vars", json::array()))
    excluded.push_back(variables[index.get<std::size_t>()]);
  optimizer->exclude_from_weight_decay(
      excluded, config.value("exclude_from_weight_decay_names", json::array()).get<std::vector<std::string>>());
  int done = 0;
  for (const json& gradients : test["inputs"]["grads_per_step"]) {
    std::vector<Tensor> given;
    for (const json& gradient : gradients)
      if (!gradient.is_null()) given.push_back(tensor_of(gradient));
    Compiled step(given, [&](Graph&, std::span<const Value> x) {
      std::vector<Value> values;
      std::size_t next = 0;
      for (const json& gradient : gradients) values.push_back(gradient.is_null() ? Value{} : x[next++]);
      optimizer->apply(values, variables);
      return Compiled::Outcome{};
    });
    step.run(given);
    ++done;
    for (const json& expect : test["expect"]["checkpoints"])
      if (expect["after_steps"] == done)
        if (const std::string text = difference_from(expect, looked_at(expect, *optimizer, variables)); !text.empty())
          return "after step " + std::to_string(done) + ": " + text;
  }
  return {};
}

std::string run_optimizer_clip(const json& test) {
  const OptimizerPtr optimizer = make<Optimizer>(test["target"], test["config"]);
  std::vector<Tensor> gradients;
  for (const json& gradient : test["inputs"]["grads"]) gradients.push_back(tensor_of(gradient));
  json expect = test["expect"];
  const std::size_t which = expect["index"][0];
  expect.erase("index");
  return difference_from(expect, compute(gradients, [&](std::span<const Value> given) {
                           return optimizer->clip_gradients({given.begin(), given.end()})[which];
                         }));
}

std::string run_optimizer_loss_scale(const json& test) {
  json config = test["config"];
  config["inner_optimizer"] = config["inner"];
  config.erase("inner");
  const OptimizerPtr optimizer = make<Optimizer>(test["target"], config);
  const std::vector<Variable> variables = variables_of(test["inputs"]["variables"]);
  const json& expect = test["expect"];
  std::vector<std::int64_t> iterations;
  double scaled_one = 0;
  for (const json& gradients : test["inputs"]["grads_per_step"]) {
    const bool scaled = gradients[0].is_object();
    const Tensor gradient = tensor_of(scaled ? gradients[0]["scaled_by_initial_scale"] : gradients[0]);
    const auto one_of = [&](Graph& graph) { return optimizer->scale_loss(graph.constant(1, DType::float32)); };
    Compiled step(std::vector{gradient}, [&](Graph& graph, std::span<const Value> x) {
      one_of(graph);
      optimizer->apply({scaled ? x[0] * optimizer->loss_scale()->initial_scale() : x[0]}, variables);
      return Compiled::Outcome{};
    });
    step.run({gradient});
    iterations.push_back(optimizer->iterations());
    scaled_one = compute({}, [&](std::span<const Value>) { return one_of(Graph::current()); }).item();
  }
  if (expect.contains("iterations_after_each_step") && expect["iterations_after_each_step"] != iterations)
    return "iterations: " + json(iterations).dump();
  if (expect.contains("scale_loss_of_1") && expect["scale_loss_of_1"] != scaled_one)
    return "a loss of 1 becomes " + std::to_string(scaled_one);
  if (!expect.contains("variable")) return {};
  json value = expect;
  value["value"] = expect["variable"];
  value.erase("variable");
  return difference_from(value, variables[0].value());
}

/// Traced, and on the host.
std::string run_schedule(const json& test) {
  const LearningRateSchedulePtr schedule = make<LearningRateSchedule>(test["target"], test["config"]);
  const double step = test["inputs"]["step"];
  const Tensor traced = compute({tensor_of(step)}, [&](std::span<const Value> given) { return (*schedule)(given[0]); });
  const std::string text = difference_from(test["expect"], traced);
  if (!text.empty()) return text;
  return difference_from(test["expect"],
                         testing::tensor_of({}, DType::float64, {schedule->at(static_cast<std::int64_t>(step))}));
}

std::string run_initializer(const json& test) {
  const InitializerPtr initializer = make<Initializer>(test["target"], test["config"]);
  const std::vector<std::int64_t> shape = test["inputs"]["shape"];
  return difference_from(test["expect"], (*initializer)(Shape(shape), floatx()));
}

std::string run_regularizer(const json& test) {
  const RegularizerPtr regularizer = make<Regularizer>(test["target"], test["config"]);
  return difference_from(test["expect"], compute({tensor_of(test["inputs"]["x"])},
                                                 [&](std::span<const Value> x) { return (*regularizer)(x[0]); }));
}

}  // namespace etude::conformance
