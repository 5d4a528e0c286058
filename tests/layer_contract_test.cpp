// The contract that all layers of the table keep, whatever they compute. Models contain no layers of strings:
// text_preprocessing_test.cpp has these.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "class_lists.hpp"
#include "etude/etude.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "support.hpp"

namespace etude {
namespace {

using nlohmann::json;
using testing::FloatX;
using testing::tensor_of;

/// Inputs that a layer of the table is called on, and what is special about it.
struct Subject {
  std::vector<Shape> shapes;
  json config = json::object();  ///< beside that of the class's example
  /// Whether it takes indices, whether a sample's result depends on the others, whether it is to be differentiated.
  bool indices = false, of_whole_batch = false, smooth = true;
};

const std::map<std::string, Subject>& subjects() {
  const Shape features{3, 4}, steps{3, 5, 4}, image{3, 6, 5, 4}, volume{3, 4, 5, 3, 2};
  const std::map<std::string, Subject> fixed{
      {"Activation", {{features}, {{"activation", "tanh"}}}},
      {"ActivityRegularization", {{features}}},
      {"AdditiveAttention", {{steps, steps}}},
      {"Attention", {{steps, steps}, {{"use_scale", true}, {"score_mode", "concat"}}}},
      {"BatchNormalization", {{features}}},
      {"Bidirectional", {{steps}, {{"merge_mode", "mul"}}}},
      {"CategoryEncoding", {{{3, 5}}, {{"num_tokens", 7}, {"output_mode", "count"}}, true}},
      {"Concatenate", {{features, {3, 2}}}},
      {"Dense", {{features}}},
      {"Discretization", {{features}, {{"output_mode", "count"}}, false, false, false}},
      {"Dot", {{steps, steps}, {{"axes", {2, 2}}, {"normalize", true}}}},
      {"EinsumDense", {{steps}, {{"equation", "abc,cd->abd"}, {"output_shape", {5, 2}}, {"bias_axes", "bd"}}}},
      {"ELU", {{features}, {{"alpha", 0.7}}}},
      {"Embedding", {{{3, 5}}, {{"input_dim", 7}, {"output_dim", 3}}, true}},
      {"Flatten", {{steps}}},
      {"GroupNormalization", {{steps}, {{"groups", 2}}}},
      {"GroupedQueryAttention", {{steps, steps}, {{"use_gate", true}, {"sliding_window", 3}}}},
      {"GRU", {{steps}}},
      {"GRUCell", {{features}}},
      {"LayerNormalization", {{features}}},
      {"Normalization", {{steps}, {{"axis", {1, 2}}}}},
      {"IntegerLookup", {{{3, 5}}, {{"vocabulary", {3, 0, 5}}, {"output_mode", "count"}}, true}},
      {"LSTM", {{steps}, {{"return_sequences", true}}}},
      {"LSTMCell", {{features, {3, 3}, {3, 3}}}},
      {"Masking", {{steps}}},
      {"MelSpectrogram",
       {{{3, 40}},
        {{"fft_length", 16},
         {"sequence_stride", 7},
         {"sampling_rate", 100},
         {"num_mel_bins", 4},
         {"min_freq", 1.0},
         {"power_to_db", false}}}},
      {"MaxNumBoundingBoxes", {{{3, 5, 4}, {3, 5}}}},
      {"MultiHeadAttention", {{steps, steps}}},
      {"Pipeline", {{features}}},
      {"Permute", {{steps}, {{"dims", {2, 1}}}}},
      {"PReLU", {{steps}, {{"shared_axes", {1}}, {"alpha_initializer", "ones"}}}},
      {"RandomFourierFeatures", {{features}, {{"trainable", true}}}},
      {"RepeatVector", {{features}}},
      {"Reshape", {{steps}, {{"target_shape", {2, -1}}}}},
      {"ReversibleEmbedding", {{{3, 5}}, {{"input_dim", 7}, {"output_dim", 3}, {"mask_zero", true}}, true}},
      {"RMSNormalization", {{steps}, {{"axis", {1, 2}}}}},
      {"RNN", {{steps}, {{"return_sequences", true}}}},
      {"SimpleRNN", {{steps}, {{"go_backwards", true}}}},
      {"SimpleRNNCell", {{features}}},
      {"Softmax", {{steps}, {{"axis", {1, 2}}}}},
      {"SpectralNormalization", {{features}}},
      {"STFTSpectrogram", {{{3, 20, 2}}, {{"mode", "psd"}, {"frame_length", 8}, {"padding", "same"}}}},
      {"StackedRNNCells", {{features}}},
      {"TimeDistributed", {{steps}}},
      {"UnitNormalization", {{features}}},
  };
  static const std::map<std::string, Subject> all = [&] {
    std::map<std::string, Subject> result = fixed;
    for (const char* name : {"AlphaDropout", "Dropout", "GaussianDropout", "GaussianNoise", "Identity", "LeakyReLU",
                             "ReLU", "Rescaling", "ThresholdedReLU"})
      result[name] = {{features}};
    for (const char* name : {"AugMix",
                             "AutoContrast",
                             "CenterCrop",
                             "ContrastLimitedAdaptiveHistogramEqualization",
                             "CutMix",
                             "Equalization",
                             "MixUp",
                             "RandAugment",
                             "RandomBrightness",
                             "RandomColorDegeneration",
                             "RandomColorJitter",
                             "RandomContrast",
                             "RandomCrop",
                             "RandomElasticTransform",
                             "RandomErasing",
                             "RandomFlip",
                             "RandomGaussianBlur",
                             "RandomGrayscale",
                             "RandomHue",
                             "RandomInvert",
                             "RandomPerspective",
                             "RandomPosterization",
                             "RandomRotation",
                             "RandomSaturation",
                             "RandomSharpness",
                             "RandomShear",
                             "RandomTranslation",
                             "RandomZoom",
                             "Resizing",
                             "Solarization"})
      result[name] = {{image}};
    for (const char* name : {"Add", "Average", "Maximum", "Minimum", "Multiply"})
      result[name] = {{steps, steps, steps}};
    result["Subtract"] = {{steps, features}};
    const auto spatial = [&](const std::string& name, json config, std::size_t most = 3) {
      const Shape shapes[] = {steps, image, volume};
      for (std::size_t rank = 1; rank <= most; ++rank) {
        const std::size_t at = name.find('*');
        result[std::string(name).replace(at, 1, std::to_string(rank) + "D")] = {{shapes[rank - 1]}, config};
      }
    };
    const json window{{"filters", 4}, {"kernel_size", 2}, {"padding", "same"}, {"strides", 2}};
    spatial("Conv*", {{"filters", 4}, {"kernel_size", 2}, {"dilation_rate", 2}, {"groups", 2}});
    spatial("Conv*Transpose", window);
    spatial("DepthwiseConv*", {{"kernel_size", 2}, {"depth_multiplier", 2}, {"padding", "same"}}, 2);
    spatial("SeparableConv*", {{"filters", 3}, {"kernel_size", 3}, {"depth_multiplier", 2}}, 2);
    spatial("LocallyConnected*", {{"filters", 3}, {"kernel_size", 2}, {"strides", 2}}, 2);
    const json pool{{"pool_size", 3}, {"strides", 2}, {"padding", "same"}};
    spatial("MaxPooling*", pool);
    spatial("AveragePooling*", pool);
    spatial("GlobalMaxPooling*", json::object());
    spatial("GlobalAveragePooling*", {{"keepdims", true}});
    spatial("AdaptiveMaxPooling*", {{"output_size", 2}});
    spatial("AdaptiveAveragePooling*", {{"output_size", 3}});
    spatial("Cropping*", json::object());
    spatial("ZeroPadding*", {{"padding", 2}});
    spatial("UpSampling*", json::object());
    spatial("SpatialDropout*", json::object());
    const json over_steps{{"filters", 2}, {"kernel_size", 2}, {"padding", "same"}, {"return_sequences", true}};
    result["ConvLSTM1D"] = {{{3, 2, 4, 3}}, over_steps};
    result["ConvLSTM2D"] = {{{3, 2, 3, 2, 3}}, over_steps};
    result["ConvLSTM3D"] = {{{3, 2, 2, 3, 2, 2}}, over_steps};
    result["UpSampling2D"].config["interpolation"] = "bilinear";
    result["BatchNormalization"].of_whole_batch = false;  // outside training
    return result;
  }();
  return all;
}

/// The config of a subject, over that of its class's example.
template <class Class> json config_of() {
  json config = json::parse(Class::about.example);
  config.update(subjects().at(Class::about.name).config);
  return config;
}

/// The first output: cells return their states, too.
Tensor output_of(Layer& layer, const std::vector<Tensor>& inputs) { return layer.call_all(inputs).front(); }

LayerPtr layer_of(const char* class_name, const json& config) {
  return from_json<Layer>(json{{"class_name", class_name}, {"config", config}}.dump());
}

std::vector<Tensor> inputs_of(const Subject& subject, std::int64_t batch) {
  Random random = testing::draws(7);
  std::vector<Tensor> inputs;
  for (Shape shape : subject.shapes) {
    shape[0] = batch;
    inputs.push_back(subject.indices ? testing::random_tensor(random, shape, DType::int32, 0, 6)
                                     : testing::random_tensor_off_zero(random, shape, floatx(), 1));
  }
  return inputs;
}

Tensor rows(const Tensor& x, std::int64_t first, std::int64_t count) {
  return testing::run({x}, [&](std::span<const Value> v) { return ops::slice(v[0], 0, first, count); });
}

/// Calls `check` with the name, subject and layer of each class, built on its inputs.
template <class Check> void each_layer(Check check) {
  testing::each_layer_of_models([&]<class Class>(testing::Tag<Class>) {
    const Subject& subject = subjects().at(Class::about.name);
    CAPTURE(Class::about.name);
    const json config = config_of<Class>();
    const LayerPtr layer = layer_of(Class::about.name, config);
    check(Class::about.name, subject, config, layer);
  });
}

}  // namespace

TEST_CASE("the contract has a line for each layer of the table that models may contain", "[layers][contract]") {
  const std::vector<std::string> all = testing::layers_of_models();
  std::set<std::string> names(all.begin(), all.end());
  for (const auto& [name, subject] : subjects()) CHECK(names.erase(name) == 1);
  CHECK(names == std::set<std::string>{});
}

TEST_CASE("a layer makes of a sample what it makes of it in a batch", "[layers][contract]") {
  const FloatX doubles(DType::float64);
  each_layer([](const char*, const Subject& subject, const json&, const LayerPtr& layer) {
    const std::vector<Tensor> inputs = inputs_of(subject, 3);
    const Tensor whole = output_of(*layer, inputs);
    for (std::int64_t i = 0; i < 3; ++i) {
      std::vector<Tensor> sample;
      for (const Tensor& x : inputs) sample.push_back(rows(x, i, 1));
      CHECK(testing::difference(output_of(*layer, sample), rows(whole, i, 1), {1e-12, 1e-12}) == "");
    }
  });
}

TEST_CASE("a layer makes nothing of an empty batch", "[layers][contract]") {
  each_layer([](const char*, const Subject& subject, const json&, const LayerPtr& layer) {
    Shape shape = output_of(*layer, inputs_of(subject, 3)).shape();
    shape[0] = 0;
    CHECK(output_of(*layer, inputs_of(subject, 0)).shape() == shape);
  });
}

TEST_CASE("a layer that is made again from its config computes the same with the same weights", "[layers][contract]") {
  each_layer([](const char* name, const Subject& subject, const json& config, const LayerPtr& layer) {
    const std::vector<Tensor> inputs = inputs_of(subject, 3);
    const Tensor y = output_of(*layer, inputs);
    const json text = json::parse(to_json<Layer>(*layer));
    for (const auto& [option, value] : config.items()) CHECK(text.at("config").contains(option));
    const LayerPtr again = layer_of(name, text.at("config"));
    output_of(*again, inputs);
    again->set_weights(layer->get_weights());
    CHECK(testing::same_bits(output_of(*again, inputs), y));
    CHECK(again->count_params() == layer->count_params());
  });
}

TEST_CASE("a layer of mixed_float16 computes in float16 nearly what float32 gives", "[layers][contract]") {
  each_layer([](const char* name, const Subject& subject, const json& config, const LayerPtr& layer) {
    json half = config;
    if (std::string_view(name) != "Pipeline") half["dtype"] = "mixed_float16";  // it has that of its layers
    const auto set = [](json& inner) { inner["config"]["dtype"] = "mixed_float16"; };
    for (const char* inner : {"layer", "cell"})
      if (half.contains(inner)) set(half[inner]);
    for (const char* list : {"cells", "layers"})
      if (half.contains(list)) std::ranges::for_each(half[list], set);
    const LayerPtr other = layer_of(name, half);
    const std::vector<Tensor> inputs = inputs_of(subject, 3);
    const Tensor y = output_of(*layer, inputs);
    output_of(*other, inputs);
    other->set_weights(layer->get_weights());
    const Tensor z = output_of(*other, inputs);
    CHECK(z.dtype() == DType::float16);
    CHECK(testing::difference(testing::numbers(z), testing::numbers(y), {0.02, 0.02}) == "");
  });
}

TEST_CASE("the gradients of a layer by inputs and weights match finite differences", "[layers][contract][gradient]") {
  const FloatX doubles(DType::float64);
  constexpr double step = 0x1p-20;
  each_layer([&](const char*, const Subject& subject, const json&, const LayerPtr& layer) {
    std::vector<Tensor> inputs = inputs_of(subject, 2);
    output_of(*layer, inputs);
    Random random = testing::draws(9);
    std::vector<Variable> weights = layer->trainable_variables();
    for (Variable& weight : weights)
      weight.assign(testing::random_tensor_off_zero(random, weight.shape(), DType::float64, 1));
    const auto scalar = [&](std::span<const Value> x) {
      const Value y = (*layer)(std::vector(x.begin(), x.end())).front();
      const Value shares = ops::uniform(y.shape(), DType::float64, 5, 0, Graph::current().constant(1, DType::int32));
      return ops::sum(y * (shares + 0.5));
    };
    testing::Compiled compiled(inputs, [&](Graph& graph, std::span<const Value> x) {
      testing::Compiled::Outcome outcome;
      const Value y = scalar(x);
      std::vector<Value> sources;
      for (const Value& input : x)
        if (is_floating(input.dtype())) sources.push_back(input);
      for (const Variable& weight : weights) sources.push_back(graph.read(weight));
      std::vector<Value> found = gradients(y, sources);
      outcome.results.push_back(y);
      for (std::size_t i = 0; i < sources.size(); ++i)
        outcome.results.push_back(found[i] ? found[i] + 0.0 : ops::zeros(sources[i].shape(), DType::float64));
      return outcome;
    });
    compiled.run(inputs);
    std::vector<double> got, want;
    std::vector<Tensor> moved;
    for (const Tensor& input : inputs) moved.push_back(input.clone());
    const auto results = [&] { return compiled.plan().result(0).item(); };
    std::size_t sources = 0;
    for (const Tensor& input : inputs) sources += is_floating(input.dtype());
    for (std::size_t i = 1; i <= sources + weights.size(); ++i)
      for (const double number : testing::numbers(compiled.plan().result(i))) got.push_back(number);
    const auto differentiate = [&](std::span<double> data, const std::function<void()>& apply) {
      for (double& x : data) {
        const double here = x;
        const auto value_at = [&](double there) {
          x = there;
          apply();
          compiled.run(moved);
          return results();
        };
        const double above = value_at(here + step), below = value_at(here - step);
        x = here;
        apply();
        want.push_back((above - below) / (2 * step));
      }
    };
    for (Tensor& input : moved)
      if (is_floating(input.dtype())) differentiate(input.data<double>(), [] {});
    for (Variable& weight : weights) {
      Tensor value = weight.value().clone();
      differentiate(value.data<double>(), [&] { weight.assign(value); });
    }
    CHECK(testing::difference(got, want, {1e-6, 1e-5}) == "");
  });
}

TEST_CASE("a layer refuses inputs of any other rank with an Error, or computes with them",
          "[layers][contract][errors]") {
  each_layer([](const char* name, const Subject& subject, const json& config, const LayerPtr&) {
    for (std::size_t rank = 0; rank <= 6; ++rank) {
      Shape shape;
      for (std::size_t i = 0; i < rank; ++i) shape.append(2);
      std::vector<Tensor> inputs;
      for (std::size_t i = 0; i < subject.shapes.size(); ++i)
        inputs.emplace_back(shape, subject.indices ? DType::int32 : floatx());
      const LayerPtr layer = layer_of(name, config);
      try {
        output_of(*layer, inputs);
      } catch (const Error& error) {
        CHECK(std::string(error.what()).starts_with("["));
        CHECK_FALSE(layer->built());
      }
    }
  });
}

}  // namespace etude
