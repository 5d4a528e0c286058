#include "conformance.hpp"
#include "etude/etude.hpp"
#include "etude/ops/elementwise.hpp"
#include "support.hpp"

// The cases of the classes that a step calls: losses, metrics, activations, layers.
namespace etude::conformance {
namespace {

using testing::Compiled;

/// (t - p)² without a mean, which Keras uses to test reductions.
class ElementwiseSquaredError : public Loss {
 public:
  explicit ElementwiseSquaredError(Reduction reduction) : Loss("elementwise_squared_error", reduction) {}
  Value call(Value y_true, Value y_pred) override { return ops::square(y_true - y_pred); }
};

LossPtr make_loss(const std::string& name, const json& config) {
  json given = config;
  if (given.contains("reduction") && given.at("reduction").is_null()) given["reduction"] = "none";
  if (name == "ElementwiseSquaredError")
    return std::make_shared<ElementwiseSquaredError>(
        reduction_from_name(given.value("reduction", "sum_over_batch_size")));
  return make<Loss>(name, given);
}

/// The case's tensors of those names, and the Value of each in a step; empty for missing ones.
class Inputs {
 public:
  Inputs(const json& given, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      places_.push_back(given.contains(name) ? static_cast<std::ptrdiff_t>(tensors.size()) : -1);
      if (given.contains(name)) tensors.push_back(tensor_of(given.at(name)));
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
  const LossPtr loss = make_loss(test.at("target"), test.at("config"));
  check_names(test.at("inputs"), {"y_true", "y_pred"}, {"sample_weight", "mask"});
  const Inputs inputs(test.at("inputs"), {"y_true", "y_pred", "sample_weight", "mask"});
  const auto apply = [&](std::span<const Value> x) {
    return (*loss)(inputs.value(x, 0), inputs.value(x, 1).with_mask(inputs.value(x, 3)), inputs.value(x, 2));
  };
  return difference_from(test.at("expect"), compute(inputs.tensors, apply));
}

std::string run_metric(const json& test) {
  const MetricPtr metric = make<Metric>(test.at("target"), test.at("config"));
  const bool compares = std::dynamic_pointer_cast<MeanOf>(metric) != nullptr;
  for (const json& update : list_in(test.at("inputs"), "updates")) {
    if (update.contains("reset")) {
      metric->reset_state();
      continue;
    }
    if (compares || !update.contains("values"))
      check_names(update, {"y_true", "y_pred"}, {"sample_weight"});
    else
      check_names(update, {"values"}, {"sample_weight"});
    const Inputs inputs(update, {"y_true", "y_pred", "sample_weight", "values"});
    Compiled step(inputs.tensors, [&](Graph&, std::span<const Value> x) {
      const Value values = inputs.value(x, 3);
      metric->update_state(inputs.value(x, 0), values ? values : inputs.value(x, 1), inputs.value(x, 2));
      return Compiled::Outcome{};
    });
    step.run(inputs.tensors);
  }
  return difference_from(test.at("expect"), compute({}, [&](auto) { return metric->result(); }));
}

namespace {

/// An activation with the options of a case.
Activation::Function activation_of(const std::string& name, const json& config) {
  if (config.empty()) return activations::get(name);
  std::vector<std::ptrdiff_t> axes;
  if (config.contains("axis"))
    axes = config.at("axis").is_array() ? config.at("axis").get<std::vector<std::ptrdiff_t>>()
                                        : std::vector{config.at("axis").get<std::ptrdiff_t>()};
  const double slope = config.value("negative_slope", 0.0), alpha = config.value("alpha", 1.0);
  if (name == "relu") {
    activations::ReluOptions options{.negative_slope = slope, .threshold = config.value("threshold", 0.0)};
    if (config.contains("max_value")) options.max_value = config.at("max_value").get<double>();
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
  const Activation::Function function = activation_of(test.at("target"), test.at("config"));
  return difference_from(test.at("expect"),
                         compute({tensor_of(test.at("inputs").at("x"))}, [&](auto x) { return function(x[0]); }));
}

namespace {

/// The weights of a case: a list, or by name.
std::vector<Tensor> weights_of(const json& given, const Layer& layer) {
  std::vector<Tensor> weights;
  for (const json& weight : given.value("_list", json::array())) weights.push_back(tensor_of(weight));
  if (given.contains("_list")) return weights;
  for (const Variable& weight : layer.weights()) {
    const std::string name = weight.name().substr(weight.name().rfind('/') + 1);
    weights.push_back(given.contains(name) ? tensor_of(given.at(name)) : weight.value());
  }
  return weights;
}

/// x, and the initial state of a recurrent layer: one tensor, or a list.
std::vector<Tensor> inputs_of(const Tensor& x, const json& options) {
  std::vector<Tensor> inputs{x};
  const json state = options.value("initial_state", json::array());
  if (!state.empty() && !state.at(0).at(0).is_array())
    inputs.push_back(tensor_of(state));
  else
    for (const json& one : state) inputs.push_back(tensor_of(one));
  return inputs;
}

}  // namespace

std::string run_layer(const json& test) {
  const LayerPtr layer = make<Layer>(test.at("target"), test.at("config"));
  const auto recurrent = std::dynamic_pointer_cast<Recurrent>(layer);
  const auto bidirectional = std::dynamic_pointer_cast<Bidirectional>(layer);
  const auto reset_state = [&] {
    if (recurrent) recurrent->reset_state();
    if (bidirectional) bidirectional->reset_state();
  };
  json expect = test.at("expect");
  std::size_t output = 0;
  if (test.at("config").value("return_state", false)) {
    output = expect.at("index").at(0);
    expect.erase("index");
  }
  const auto apply = [&](const std::vector<Tensor>& inputs, bool training) {
    return compute(inputs, [&](std::span<const Value> given) {
      return (*layer)(std::vector(given.begin(), given.end()), training).at(output);
    });
  };
  Tensor result;
  if (const auto attention = std::dynamic_pointer_cast<ScoredAttention>(layer)) {
    const json& call = list_in(test.at("inputs"), "calls").at(0);
    const json options = call.value("kwargs", json::object());
    check_names(options, {}, {"mask", "return_attention_scores"});
    std::vector<Tensor> inputs;
    for (const json& input : call.at("args").at(0)) inputs.push_back(tensor_of(input));
    const std::size_t count = inputs.size();
    for (const json& mask : options.value("mask", json::array())) inputs.push_back(tensor_of(mask));
    if (options.value("return_attention_scores", false)) {
      output = expect.at("index").at(0);
      expect.erase("index");
    }
    return difference_from(expect, compute(inputs, [&](std::span<const Value> given) {
                             std::vector<Value> values(given.begin(), given.begin() + std::ptrdiff_t(count));
                             for (std::size_t i = count; i < given.size(); ++i)
                               values[i - count] = values[i - count].with_mask(ops::cast(given[i], DType::boolean));
                             const auto attended = attention->attend(values, {});
                             return output == 0 ? attended.output : attended.scores;
                           }));
  }
  for (const json& call : list_in(test.at("inputs"), "calls")) {
    if (call.contains("reset_state")) {
      if (!recurrent && !bidirectional) throw Missing("reset_state of " + test.at("target").dump());
      reset_state();
      continue;
    }
    const json& argument = call.at("args").at(0);
    std::vector<Tensor> several;
    if (argument.is_object() && argument.contains("list"))
      for (const json& input : argument.at("list")) several.push_back(tensor_of(input));
    const Tensor x = several.empty() ? tensor_of(argument) : several.front();
    const json options = call.value("kwargs", json::object());
    check_names(options, {}, {"training", "mask", "initial_state"});
    const bool training = options.value("training", false);
    if (!layer->built()) {
      apply(several.empty() ? std::vector{x} : several, false);
      reset_state();
    }
    if (test.contains("weights")) layer->set_weights(weights_of(test.at("weights"), *layer));
    if (call.at("args").size() > 1 || options.contains("mask")) {
      const Tensor mask = tensor_of(options.contains("mask") ? options.at("mask") : call.at("args").at(1));
      result = compute({x, mask}, [&](std::span<const Value> given) {
        return (*layer)(given[0].with_mask(ops::cast(given[1], DType::boolean)), training);
      });
    } else {
      result = apply(several.empty() ? inputs_of(x, options) : several, training);
    }
  }
  return difference_from(expect, result);
}

std::string run_layer_shape(const json& test) {
  const LayerPtr layer = make<Layer>(test.at("target"), test.at("config"));
  const auto shape_of = [](json dims) {
    for (json& extent : dims)
      if (extent.is_null()) extent = 2;
    return shape_in(dims);
  };
  const json& expect = test.at("expect");
  std::vector<Tensor> inputs;
  const json& shapes = test.at("inputs").at("input_shape");
  for (const char* name : {"query_shape", "value_shape"})
    if (shapes.is_object()) inputs.emplace_back(shape_of(shapes.at(name)), floatx());
  if (shapes.is_array() && shapes.at(0).is_array())
    for (const json& shape : shapes) inputs.emplace_back(shape_of(shape), floatx());
  else if (shapes.is_array())
    inputs.emplace_back(shape_of(shapes), floatx());
  if (inputs.empty()) throw Missing("input_shape = " + shapes.dump());
  const Tensor y = (*layer)(inputs);
  const std::size_t trainable = layer->trainable_variables().size(), all = layer->weights().size();
  if (y.shape() != shape_of(expect.at("output_shape"))) return "output of shape " + y.shape().to_string();
  if (trainable != expect.value("num_trainable_weights", trainable))
    return std::to_string(trainable) + " trainable weights";
  if (all - trainable != expect.value("num_non_trainable_weights", all - trainable))
    return std::to_string(all - trainable) + " non-trainable weights";
  std::size_t losses = 0;
  compute(inputs, [&](std::span<const Value> x) -> Value {
    const Value output = (*layer)(std::vector(x.begin(), x.end()));
    losses = layer->regularization_losses().size() + layer->added_losses().size();
    return output;
  });
  return losses == expect.value("num_losses", std::size_t{0}) ? "" : std::to_string(losses) + " losses";
}

}  // namespace etude::conformance
