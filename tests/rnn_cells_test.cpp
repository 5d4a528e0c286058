#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "etude/layers/layers.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/saving/config.hpp"
#include "etude/training/sequential.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Cells, and the layers that run them: what conformance/recurrent_cells.json does not cover.

using namespace etude;
using namespace etude::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Values = std::span<const Value>;

const std::vector<std::string> cells{"SimpleRNNCell", "GRUCell", "LSTMCell"};

LayerPtr cell(const std::string& name, const std::string& more = "") {
  return from_json<Layer>(R"({"class_name": ")" + name + R"(", "config": {"units": 3)" + more + "}}");
}
/// The recurrent layer of that cell.
LayerPtr layer_of(const std::string& name, const std::string& more = "") {
  return cell(name.substr(0, name.size() - 4), more);
}

Tensor sequence(const Shape& shape = {2, 5, 4}, std::uint64_t seed = 5) {
  Random random = draws(seed);
  return random_tensor(random, shape, DType::float32);
}

/// The state decays, and a Dense layer of the inputs is added; the output is twice the state.
class Leaky : public RnnCell {
 public:
  explicit Leaky(LayerPtr inner = layers::dense({.units = 3, .kernel_regularizer = "l2"}))
      : RnnCell("Leaky"), inner_(std::move(inner)), decay_("decay", tensor_of({}, DType::float32, {0.5})) {}
  std::vector<LayerPtr> layers() const override { return {inner_}; }
  std::vector<Shape> state_shapes(const Shape& x) const override { return {{x[0], 3}}; }
  Step step(Value x, const std::vector<Value>& states, bool training) override {
    const Value state = value_of(decay_) * states[0] + (*inner_)(x, training);
    return {2 * state, {state}};
  }

 private:
  LayerPtr inner_;
  Variable decay_;
};

Tensor masked(Layer& layer, const Tensor& x, const std::vector<double>& mask) {
  return run({x, tensor_of(x.shape().slice(0, 2), DType::boolean, mask)},
             [&](Values v) { return layer(v[0].with_mask(v[1])); });
}

/// h = tanh(x + h · U · V): a kernel of low rank, which each step multiplies.
class LowRank : public RnnCell {
 public:
  LowRank() : RnnCell("LowRank") {
    u_ = add("u", {3, 1}, {0.5, -0.25, 0.75});
    v_ = add("v", {1, 3}, {-1, 0.5, 0.25});
  }
  std::vector<Shape> state_shapes(const Shape& x) const override { return {{x[0], 3}}; }
  Step step(Value x, const std::vector<Value>& states, bool) override {
    const Value h = ops::tanh(x + ops::matmul(states[0], ops::matmul(value_of(u_), value_of(v_))));
    return {h, {h}};
  }
  Variable u_, v_;

 private:
  static Variable add(const char* name, const Shape& shape, const std::vector<double>& values) {
    return Variable(name, tensor_of(shape, DType::float32, values));
  }
};

/// Step `t` of x [batch, steps, features].
Tensor step_of(const Tensor& x, std::int64_t t) {
  return run({x}, [&](Values v) { return ops::squeeze(ops::slice(v[0], 1, t, 1), 1); });
}

}  // namespace

TEST_CASE("a step may multiply variables by each other: their gradients are those of the unrolled loop",
          "[layers][recurrent]") {
  const auto cell = std::make_shared<LowRank>();
  const LayerPtr rnn = layers::rnn({.cell = cell});
  Random random = draws(5);
  const Tensor x = random_tensor(random, {2, 4, 3}, DType::float32);
  const auto gradients_of = [&](const std::function<Value(Value)>& last) {
    std::vector<double> all;
    for (const Variable& variable : {cell->u_, cell->v_})
      for (const double number : numbers(run({x}, [&](Values v) {
             return gradients(ops::sum(ops::square(last(v[0]))), std::vector<Variable>{variable}).front();
           })))
        all.push_back(number);
    return all;
  };
  const auto unrolled = [&](Value all) {
    Value h = ops::zeros({2, 3}, DType::float32);
    for (std::int64_t t = 0; t < 4; ++t) h = cell->step(ops::squeeze(ops::slice(all, 1, t, 1), 1), {h}, true).output;
    return h;
  };
  const std::vector<double> expected = gradients_of(unrolled);
  CHECK(std::ranges::all_of(expected, [](double number) { return std::abs(number) > 1e-3; }));
  CHECK(difference(gradients_of([&](Value all) { return (*rnn)(all, true); }), expected, {.atol = 1e-5}).empty());
}

TEST_CASE("RNN over a cell computes what the recurrent layer of that cell does", "[layers][recurrent]") {
  for (const std::string& name : cells)
    for (const char* options : {"", R"(, "return_sequences": true)", R"(, "go_backwards": true)",
                                R"(, "return_sequences": true, "zero_output_for_mask": true)"}) {
      INFO(name << options);
      const LayerPtr rnn = from_json<Layer>(R"({"class_name": "RNN", "config": {"cell": {"class_name": ")" + name +
                                            R"(", "config": {"units": 3}})" + options + "}}");
      const LayerPtr layer = layer_of(name, options);
      const Tensor x = sequence();
      (*rnn)(x);
      (*layer)(x);
      rnn->set_weights(layer->get_weights());
      CHECK(same_bits((*rnn)(x), (*layer)(x)));
      const std::vector<double> mask{1, 0, 1, 1, 0, 0, 1, 1, 0, 1};
      CHECK(same_bits(masked(*rnn, x, mask), masked(*layer, x, mask)));
    }
}

TEST_CASE("a cell called step by step computes its layer's sequence", "[layers][recurrent]") {
  for (const std::string& name : cells) {
    INFO(name);
    const LayerPtr one = cell(name), layer = layer_of(name, R"(, "return_sequences": true)");
    const Tensor x = sequence(), whole = (*layer)(x);
    std::vector<Tensor> inputs{step_of(x, 0)};
    one->call_all(inputs);
    one->set_weights(layer->get_weights());
    for (std::int64_t t = 0; t < 5; ++t) {
      inputs[0] = step_of(x, t);
      const std::vector<Tensor> results = one->call_all(inputs);
      CHECK(difference(results[0], step_of(whole, t), {1e-6, 1e-6}) == "");
      inputs.resize(1);
      inputs.insert(inputs.end(), results.begin() + 1, results.end());
    }
  }
}

TEST_CASE("RNN over stacked cells computes what stacked layers do, with their masks", "[layers][recurrent]") {
  const auto rnn = layers::rnn(
      {.cell = layers::stacked_rnn_cells(std::vector<LayerPtr>{
           layers::lstm_cell({.units = 3}), layers::gru_cell({.units = 2}), layers::simple_rnn_cell({.units = 4})}),
       .return_sequences = true});
  const std::vector<LayerPtr> stacked{layers::lstm({.units = 3, .return_sequences = true}),
                                      layers::gru({.units = 2, .return_sequences = true}),
                                      layers::simple_rnn({.units = 4, .return_sequences = true})};
  const Tensor x = sequence();
  (*rnn)(x);
  const auto through_all = [&](Value y) {
    for (const LayerPtr& layer : stacked) y = (*layer)(y);
    return y;
  };
  run({x}, [&](Values v) { return through_all(v[0]); });
  std::vector<Tensor> weights;
  for (const LayerPtr& layer : stacked)
    for (const Tensor& weight : layer->get_weights()) weights.push_back(weight);
  rnn->set_weights(weights);
  CHECK(difference((*rnn)(x), run({x}, [&](Values v) { return through_all(v[0]); }), {1e-6, 1e-6}) == "");
  // Masks reach each layer, so both repeat the same outputs after the first valid step.
  const Tensor mask = tensor_of({2, 5}, DType::boolean, {1, 1, 0, 1, 0, 1, 0, 0, 1, 1});
  CHECK(difference(run({x, mask}, [&](Values v) { return (*rnn)(v[0].with_mask(v[1])); }),
                   run({x, mask}, [&](Values v) { return through_all(v[0].with_mask(v[1])); }), {1e-6, 1e-6}) == "");
}

TEST_CASE("RNN runs a custom cell, and trains the layers and variables in it", "[layers][recurrent]") {
  set_random_seed(3);
  const auto own = std::make_shared<Leaky>();
  const auto rnn = layers::rnn({.cell = own, .return_sequences = true});
  const Tensor x = sequence(), y = (*rnn)(x);
  Tensor state({2, 3});
  for (std::int64_t t = 0; t < 5; ++t) {
    state = run({state, step_of(x, t)}, [&](Values v) { return 0.5 * v[0] + (*own->layers()[0])(v[1]); });
    CHECK(difference(step_of(y, t), run({state}, [](Values v) { return 2 * v[0]; }), {1e-6, 1e-6}) == "");
  }
  CHECK(rnn->weights().size() == 3);  // a kernel, a bias, and the decay

  Sequential model({rnn, layers::dense({.units = 1})});
  model.compile({.optimizer = "adam", .loss = "mse"});
  const std::vector<Tensor> before = rnn->get_weights();
  const Tensor target = sequence({2, 5, 1}, 7);
  const HistoryPtr history = model.fit(x, target, {.epochs = 100, .verbose = 0});
  const std::vector<double>& losses = history->history().front().second;
  CHECK(losses.back() < 0.8 * losses.front());
  const std::vector<Tensor> after = rnn->get_weights();
  for (std::size_t i = 0; i < before.size(); ++i) CHECK_FALSE(same_bits(before[i], after[i]));
}

TEST_CASE("a custom cell computes the same with run_eagerly", "[layers][recurrent]") {
  const Tensor x = sequence(), target = sequence({2, 3}, 7);
  std::vector<std::vector<Tensor>> trained;
  for (const bool eagerly : {false, true}) {
    set_random_seed(3);
    Sequential model({layers::rnn(LayerPtr(std::make_shared<Leaky>()))});
    model.compile({.optimizer = "sgd", .loss = "mse", .run_eagerly = eagerly});
    model.fit(x, target, {.epochs = 3, .verbose = 0});
    trained.push_back(model.get_weights());
  }
  CHECK(std::ranges::equal(trained[0], trained[1], same_bits));
}

TEST_CASE("a cell computes in its own dtype", "[layers][recurrent]") {
  const auto rnn =
      layers::rnn({.cell = layers::gru_cell({.units = 2, .dtype = "float64"}), .stateful = true, .dtype = "float32"});
  const Tensor x = sequence({1, 4, 2});
  CHECK(masked(*rnn, x, {0, 1, 0, 1}).dtype() == DType::float64);
  CHECK(rnn->own_states().front().dtype() == DType::float32);
}

TEST_CASE("a masked step repeats the output of a custom cell, which is zero before the first valid step",
          "[layers][recurrent]") {
  const auto rnn = layers::rnn({.cell = std::make_shared<Leaky>(), .return_sequences = true});
  const Tensor x = sequence({1, 4, 2}), y = masked(*rnn, x, {0, 1, 0, 1});
  const auto row = [&](std::int64_t t) { return numbers(step_of(y, t)); };
  CHECK(row(0) == std::vector<double>{0, 0, 0});
  CHECK(row(1) == row(2));
  CHECK(row(2) != row(3));
}

TEST_CASE("a cell whose output has another shape than it declares is an Error, with and without a mask",
          "[layers][recurrent]") {
  struct Narrow : Leaky {
    Step step(Value x, const std::vector<Value>& states, bool training) override {
      const Step made = Leaky::step(x, states, training);
      return {ops::sum(made.output, {-1}, true), made.states};
    }
  };
  const LayerPtr layer = layers::rnn({.cell = std::make_shared<Narrow>()});
  const Tensor x({2, 4, 3}, DType::float32);
  const auto expected = ContainsSubstring("an output of shape [2, 1] - expected [2, 3]");
  CHECK_THAT(error_of([&] { (*layer)(x); }), expected);
  CHECK_THAT(error_of([&] { masked(*layer, x, {1, 1, 1, 0, 1, 0, 0, 0}); }), expected);
}

TEST_CASE("dropout in stacked cells applies in training only, with one mask for all steps", "[layers][recurrent]") {
  const auto rnn =
      layers::rnn({.cell = layers::stacked_rnn_cells(std::vector<LayerPtr>{
                       layers::simple_rnn_cell({.units = 6, .recurrent_initializer = "zeros"}),
                       layers::simple_rnn_cell({.units = 6, .recurrent_initializer = "zeros", .dropout = 0.5})}),
                   .return_sequences = true});
  const Tensor x = tensor_of({2, 3, 4}, DType::float32, std::vector<double>(24, 1));
  CHECK(same_bits((*rnn)(x), (*rnn)(x)));
  const Tensor y = (*rnn)(x, true);
  CHECK_FALSE(same_bits(y, (*rnn)(x)));
  CHECK(same_bits(step_of(y, 0), step_of(y, 2)));
}

TEST_CASE("Bidirectional runs RNN over two cells of the same options", "[layers][recurrent]") {
  const auto both = layers::bidirectional(layers::rnn(layers::stacked_rnn_cells(
      std::vector<LayerPtr>{layers::gru_cell({.units = 2}), layers::lstm_cell({.units = 3})})));
  const Tensor y = (*both)(sequence());
  CHECK(y.shape() == Shape{2, 6});
  CHECK(both->weights().size() == 12);
  CHECK_THROWS_WITH(layers::bidirectional(layers::rnn(LayerPtr(std::make_shared<Leaky>()))),
                    ContainsSubstring("copy()"));
}

TEST_CASE("a stateful ConvLSTM continues from the images of the previous batch", "[layers][recurrent]") {
  const auto stateful = layers::conv_lstm2d({.filters = 2, .kernel_size = 2, .padding = "same", .stateful = true});
  const auto whole = layers::conv_lstm2d({.filters = 2, .kernel_size = 2, .padding = "same"});
  const Tensor x = sequence({1, 4, 3, 3, 2});
  (*whole)(x);
  const auto half = [&](std::int64_t from) { return run({x}, [&](Values v) { return ops::slice(v[0], 1, from, 2); }); };
  (*stateful)(half(0));
  stateful->set_weights(whole->get_weights());
  stateful->reset_state();
  (*stateful)(half(0));
  CHECK(difference((*stateful)(half(2)), (*whole)(x), {1e-6, 1e-6}) == "");
}

TEST_CASE("a masked step of a ConvLSTM leaves its images unchanged", "[layers][recurrent]") {
  const auto layer = layers::conv_lstm1d({.filters = 2, .kernel_size = 2});
  const Tensor x = sequence({1, 3, 4, 1});
  const Tensor all = (*layer)(run({x}, [](Values v) { return ops::slice(v[0], 1, 0, 2); }));
  CHECK(same_bits(masked(*layer, x, {1, 1, 0}), all));
}

TEST_CASE("cells and their layers refuse inputs and options that they cannot run", "[layers][recurrent]") {
  const Tensor x = sequence();
  CHECK_THROWS_WITH(layers::rnn({}), ContainsSubstring("cell = no layer - expected a cell"));
  CHECK_THROWS_WITH(layers::rnn(layers::dense({.units = 2})), ContainsSubstring("cell = Dense - expected a cell"));
  CHECK_THROWS_WITH(layers::stacked_rnn_cells({}), ContainsSubstring("no cells"));
  CHECK_THROWS_WITH((*layers::lstm_cell({.units = 2}))({step_of(x, 0), Tensor({2, 2})}),
                    ContainsSubstring("x and 2 states"));
  CHECK_THROWS_WITH((*layers::gru_cell({.units = 2}))({step_of(x, 0), Tensor({2, 3})}),
                    ContainsSubstring("a state of shape [2, 3] - expected [2, 2]"));
  CHECK_THROWS_WITH(layers::conv_lstm2d({.filters = 0, .kernel_size = 2}), ContainsSubstring("filters = 0"));
  CHECK_THROWS_WITH(layers::conv_lstm1d({.filters = 1, .kernel_size = 2, .padding = "causal"}),
                    ContainsSubstring("causal"));
  CHECK_THROWS_WITH((*layers::conv_lstm1d({.filters = 1, .kernel_size = 9}))(sequence({1, 2, 4, 1})),
                    ContainsSubstring("a window of 9"));
  CHECK_THROWS_WITH((*layers::conv_lstm2d({.filters = 1, .kernel_size = 2}))(x),
                    ContainsSubstring("steps of shape [2, 4] - expected a batch axis, 2 spatial axes and channels"));

  // The step is traced once for all steps: it cannot draw, assign or add losses.
  const auto draws_inside = layers::rnn(LayerPtr(std::make_shared<Leaky>(layers::gaussian_noise({.stddev = 0.5}))));
  CHECK_THROWS_WITH((*draws_inside)(sequence({2, 5, 3}), true), ContainsSubstring("within the step of a loop"));
  const auto adds_losses =
      layers::rnn(LayerPtr(std::make_shared<Leaky>(layers::dense({.units = 3, .activity_regularizer = "l2"}))));
  CHECK_THROWS_WITH((*adds_losses)(x), ContainsSubstring("a loss within the step of a loop"));
  CHECK_THROWS_WITH(to_json<Layer>(*layers::rnn(LayerPtr(std::make_shared<Leaky>()))),
                    ContainsSubstring("not one of Étude's"));
}
