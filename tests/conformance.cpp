#include "conformance.hpp"

#include <limits>

#include "etude/layers/layers.hpp"
#include "etude/optimizers/optimizers.hpp"
#include "support.hpp"

namespace etude::conformance {
namespace {

Shape shape_of(const json& value) {
  Shape shape;
  for (const json* level = &value; level->is_array(); level = &level->front()) {
    shape.append(static_cast<std::int64_t>(level->size()));
    if (level->empty()) break;
  }
  return shape;
}

void flatten_into(const json& value, std::vector<double>& numbers) {
  if (!value.is_array()) return numbers.push_back(number_of(value));
  for (const json& element : value) flatten_into(element, numbers);
}

const json& first_leaf(const json& value) { return value.is_array() && !value.empty() ? first_leaf(value[0]) : value; }

Integers integers_of(const json& value) {
  return value.is_array() ? Integers(value.get<std::vector<std::int64_t>>()) : Integers(value.get<std::int64_t>());
}

Pair pair_of(const json& value) { return value.is_array() ? Pair(value[0], value[1]) : Pair(value.get<int>()); }

/// One element of the first axis.
Tensor element(const Tensor& tensor, std::int64_t index) {
  return tensor.rows(index, index + 1).reshape(tensor.shape().slice(1, tensor.shape().rank()));
}

Tensor element_at(Tensor tensor, const json& path) {
  if (path.is_number()) return element(tensor, path);
  for (const json& step : path) tensor = element_at(tensor, step);
  return tensor;
}

}  // namespace

double number_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_string()) return value;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return value == "inf" ? infinity : value == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

Tensor tensor_of(const json& value) {
  if (!value.is_object()) {
    std::vector<double> numbers;
    flatten_into(value, numbers);
    return testing::tensor_of(shape_of(value), first_leaf(value).is_boolean() ? DType::boolean : floatx(), numbers);
  }
  const std::vector<std::int64_t> dims = value["shape"];
  Tensor tensor(Shape(dims), DType::float64);
  double i = 0;
  for (double& element : tensor.data<double>())
    element = value.contains("fill") ? number_of(value["fill"]) : value.value("scale", 1.0) * i++;
  return tensor.astype(floatx());
}

std::string difference_from(const json& expect, Tensor got) {
  if (expect.contains("index")) got = element_at(got, expect["index"]);
  Tensor want = tensor_of(expect["value"]);
  if (want.shape().rank() == 0) {  // every element
    Tensor all(got.shape(), DType::float64);
    for (double& element : all.data<double>()) element = want.item();
    want = all;
  }
  // Values are written with eight digits, and many peers ask for more than another summation order can give.
  return testing::difference(got, want, {expect.value("atol", 0.0) + 1e-6, expect.value("rtol", 0.0) + 1e-5});
}

/// By name, or {"class": "Constant", "config": {"value": …}}.
Choice<Initializer> initializer_of(const json& config, const char* key, const char* fallback) {
  if (!config.contains(key)) return fallback;
  const json& given = config[key];
  if (given.is_string()) return given.get<std::string>();
  check(given["class"] == "Constant", ErrorKind::value, "conformance", "initializer ", given.dump(),
        " - expected Constant - add it to initializer_of.");
  return initializers::constant({.value = given["config"]["value"]});
}

/// Likewise a regularizer.
Choice<Regularizer> regularizer_of(const json& config, const char* key) {
  if (!config.contains(key)) return {};
  const json& given = config[key];
  if (given.is_string()) return given.get<std::string>();
  check(given["class"] == "L1L2", ErrorKind::value, "conformance", "regularizer ", given.dump(),
        " - expected L1L2 - add it to regularizer_of.");
  return regularizers::l1_l2({.l1 = given["config"]["l1"], .l2 = given["config"]["l2"]});
}

/// Sets those options of a recurrent layer that a config names.
template <class Options> Options recurrent_options_of(const json& config) {
  Options options;
  Options::fields(options, [&]<class Field>(const char* name, Field& field) {
    if (!config.contains(name)) return;
    if constexpr (std::is_same_v<Field, Choice<Initializer>>)
      field = initializer_of(config, name, "");
    else if constexpr (std::is_same_v<Field, Choice<Regularizer>>)
      field = regularizer_of(config, name);
    else if constexpr (std::is_arithmetic_v<Field>)
      field = config[name].get<Field>();
    else
      fail(ErrorKind::value, "conformance", name, " - expected an option that recurrent_options_of knows - add it.");
  });
  return options;
}

LayerPtr make_layer(const json& description) {
  const json& config = description["config"];
  const std::string name = description["class"];
  const auto text = [&](const char* key, const char* fallback) { return config.value(key, fallback); };
  if (name == "Dense")
    return layers::dense({.units = config["units"],
                          .activation = text("activation", ""),
                          .use_bias = config.value("use_bias", true),
                          .kernel_initializer = text("kernel_initializer", "glorot_uniform"),
                          .bias_initializer = text("bias_initializer", "zeros"),
                          .kernel_regularizer = regularizer_of(config, "kernel_regularizer"),
                          .bias_regularizer = regularizer_of(config, "bias_regularizer"),
                          .name = text("name", "")});
  if (name == "BatchNormalization") return layers::batch_normalization({.epsilon = config.value("epsilon", 1e-3)});
  if (name == "Conv2D")
    return layers::conv2d({.filters = config["filters"],
                           .kernel_size = pair_of(config["kernel_size"]),
                           .strides = pair_of(config.value("strides", json(1))),
                           .padding = text("padding", "valid"),
                           .data_format = text("data_format", "channels_last"),
                           .dilation_rate = pair_of(config.value("dilation_rate", json(1))),
                           .groups = config.value("groups", 1),
                           .activation = text("activation", ""),
                           .use_bias = config.value("use_bias", true),
                           .kernel_initializer = text("kernel_initializer", "glorot_uniform"),
                           .bias_initializer = text("bias_initializer", "zeros")});
  if (name == "MaxPooling2D")
    return layers::max_pooling2d({.pool_size = pair_of(config.value("pool_size", json(2))),
                                  .strides = pair_of(config.value("strides", config.value("pool_size", json(2)))),
                                  .padding = text("padding", "valid"),
                                  .data_format = text("data_format", "channels_last")});
  if (name == "LSTM") return layers::lstm(recurrent_options_of<LSTMOptions>(config));
  if (name == "GRU") return layers::gru(recurrent_options_of<GRUOptions>(config));
  if (name == "SimpleRNN") return layers::simple_rnn(recurrent_options_of<SimpleRNNOptions>(config));
  if (name == "LayerNormalization")
    return layers::layer_normalization({.axis = integers_of(config.value("axis", json(-1))),
                                        .rms_scaling = config.value("rms_scaling", false),
                                        .beta_initializer = text("beta_initializer", "zeros"),
                                        .gamma_initializer = text("gamma_initializer", "ones")});
  if (name == "GlobalAveragePooling1D")
    return layers::global_average_pooling1d(
        {.data_format = text("data_format", "channels_last"), .keepdims = config.value("keepdims", false)});
  if (name == "MultiHeadAttention")
    return layers::multi_head_attention({.num_heads = config["num_heads"],
                                         .key_dim = config["key_dim"],
                                         .attention_axes = integers_of(config.value("attention_axes", json::array()))});
  if (name == "Activation") return layers::activation({.activation = text("activation", "")});
  if (name == "Dropout") return layers::dropout(config["rate"].get<double>());
  if (name == "Flatten") return layers::flatten({.data_format = text("data_format", "channels_last")});
  fail(ErrorKind::value, "conformance", "layer ", name, " - expected one that make_layer knows - add it there.");
}

namespace {

LearningRate learning_rate_of(const json& value) {
  return value.is_number() ? LearningRate(value.get<double>()) : make_schedule(value["class"], value["config"]);
}

/// Sets those options that a config names.
auto options_of(const json& config) {
  return [&config]<class Field>(const char* name, Field& field) {
    if (!config.contains(name)) return;
    const json& value = config[name];
    if constexpr (std::is_same_v<Field, LearningRate>)
      field = learning_rate_of(value);
    else if constexpr (requires {
                         typename Field::value_type;
                         field.has_value();
                       })
      field = value.get<typename Field::value_type>();
    else
      field = value.get<Field>();
  };
}

}  // namespace

OptimizerPtr make_optimizer(const std::string& name, const json& config) {
  return optimizers::make(name, options_of(config));
}

LearningRateSchedulePtr make_schedule(const std::string& name, const json& config) {
  return schedules::make(name, options_of(config));
}

}  // namespace etude::conformance
