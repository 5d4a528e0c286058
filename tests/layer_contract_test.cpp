// The contract that all layers of the table keep, whatever they compute. Models contain no layers of strings:
// text_preprocessing_test.cpp has these.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "class_lists.hpp"
#include "etude/etude.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "layer_subjects.hpp"
#include "support.hpp"

namespace etude {
namespace {

using nlohmann::json;
using testing::FloatX;
using testing::inputs_of;
using testing::layer_of;
using testing::Subject;
using testing::subjects;
using testing::tensor_of;

/// The config of a subject, over that of its class's example.
template <class Class> json config_of() {
  json config = json::parse(Class::about.example);
  config.update(subjects().at(Class::about.name).config);
  return config;
}

/// The first output: cells return their states, too.
Tensor output_of(Layer& layer, const std::vector<Tensor>& inputs) { return layer.call_all(inputs).front(); }

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

TEST_CASE("a sample alone and in a batch give the same output", "[layers][contract]") {
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

TEST_CASE("an empty batch gives an output without rows", "[layers][contract]") {
  each_layer([](const char*, const Subject& subject, const json&, const LayerPtr& layer) {
    Shape shape = output_of(*layer, inputs_of(subject, 3)).shape();
    shape[0] = 0;
    CHECK(output_of(*layer, inputs_of(subject, 0)).shape() == shape);
  });
}

TEST_CASE("a layer of a model accepts any extents, unless the shape of a variable depends on them",
          "[layers][contract]") {
  each_layer([](const std::string& name, const Subject& subject, const json& config, const LayerPtr& layer) {
    const std::vector<Tensor> data = inputs_of(subject, 2);
    const std::vector<Tensor> expected = layer->call_all(data);
    for (std::ptrdiff_t axis = -1; axis > -static_cast<std::ptrdiff_t>(data.front().shape().rank()); --axis) {
      CAPTURE(axis);
      std::vector<SymbolicTensor> inputs;
      for (const Tensor& each : data) {
        Shape shape = each.shape().without(0);
        if (-axis <= static_cast<std::ptrdiff_t>(shape.rank())) shape[axis] = -1;
        inputs.push_back(layers::input({.shape = shape, .dtype = std::string(name_of(each.dtype()))}));
      }
      const LayerPtr free = layer_of(name, config);
      try {
        Functional model(inputs, free->apply_all(inputs));
        free->set_weights(layer->get_weights());
        const std::vector<Tensor> results = model.predict_outputs(Batch{data, {}, {}}, {.verbose = 0});
        REQUIRE(results.size() == expected.size());
        for (std::size_t i = 0; i < results.size(); ++i) CHECK(testing::same_bits(results[i], expected[i]));
      } catch (const Error& error) {
        const std::string text = error.what();
        const bool of_variable = text.find("its variable \"") != std::string::npos;
        // An option, or another input, has the extent of that axis.
        const bool of_option = name == "EinsumDense" || name == "LSTMCell" || name == "MaxNumBoundingBoxes";
        INFO(text);
        CHECK((of_variable || of_option));
        CHECK(!free->built());
      }
    }
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
