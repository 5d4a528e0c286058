#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/layers/layers.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "support.hpp"

// Masks, states and dtypes of loops over cells.

using namespace etude;
using namespace etude::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Values = std::span<const Value>;

Tensor sequence(const Shape& shape, DType dtype = DType::float32) {
  Random random = draws(5);
  return random_tensor(random, shape, dtype);
}

/// The shapes of the masks of all outputs for an input with a mask [batch, steps]; [] for none.
std::vector<Shape> masks_of(Layer& layer, const Shape& input) {
  std::vector<Shape> masks;
  run({sequence(input),
       tensor_of(input.slice(0, 2), DType::boolean, std::vector<double>(std::size_t(input[0] * input[1]), 1))},
      [&](Values v) {
        const Outputs outputs = layer(std::vector{v[0].with_mask(v[1])});
        for (const Value& y : outputs) masks.push_back(y.mask() ? y.mask().shape() : Shape{});
        return outputs.front();
      });
  return masks;
}

/// A cell of one state, whose members decide what is wrong with it.
class Faulty : public RnnCell {
 public:
  explicit Faulty(std::string fault) : RnnCell("Faulty"), fault_(std::move(fault)) {}
  std::vector<Shape> state_shapes(const Shape& x) const override {
    return fault_ == "no state" ? std::vector<Shape>{} : std::vector<Shape>{{x[0], 4}};
  }
  Step step(Value x, const std::vector<Value>& states, bool) override {
    if (fault_ == "no output") return {{}, states};
    if (fault_ == "an empty state") return {x, {Value{}}};
    if (fault_ == "another shape") return {x, {ops::sum(x)}};
    return {x, states};
  }

 private:
  std::string fault_;
};

/// The sum of the inputs, from 10 on, which is also the output.
class Sum10 : public RnnCell {
 public:
  Sum10() : RnnCell("Sum10") {}
  std::vector<Shape> state_shapes(const Shape& x) const override { return {x}; }
  std::vector<Value> initial_states(const Shape& x) const override {
    return {Graph::current().constant(10, compute_dtype(), x)};
  }
  std::optional<std::size_t> output_state() const override { return 0; }
  Step step(Value x, const std::vector<Value>& states, bool) override { return {states[0] + x, {states[0] + x}}; }
};

}  // namespace

TEST_CASE("a mask of steps is that of outputs of each step, and of nothing else", "[layers][recurrent]") {
  const Shape none, steps{2, 3};
  // As many steps as rows and columns.
  const Shape images{2, 3, 3, 3, 1};
  const ConvLSTMOptions each{
      .filters = 1, .kernel_size = 2, .padding = "same", .return_sequences = true, .return_state = true};
  ConvLSTMOptions last = each;
  last.return_sequences = false;
  CHECK(masks_of(*layers::conv_lstm2d(each), images) == std::vector<Shape>{steps, none, none});
  CHECK(masks_of(*layers::conv_lstm2d(last), images) == std::vector<Shape>{none, none, none});
  const auto both = layers::bidirectional({.layer = layers::conv_lstm2d(last), .merge_mode = {}});
  CHECK(masks_of(*both, images) == std::vector<Shape>(6));
  const auto pair =
      layers::bidirectional({.layer = layers::lstm({.units = 2, .return_sequences = true}), .merge_mode = {}});
  CHECK(masks_of(*pair, {2, 3, 4}) == std::vector<Shape>{steps, steps});
}

TEST_CASE("a mask with more axes than batch and steps is an error", "[layers][recurrent]") {
  const auto layer = layers::conv_lstm1d({.filters = 1, .kernel_size = 1});
  CHECK_THROWS_WITH(run({sequence({1, 2, 3, 1})}, [&](Values v) { return (*layer)((*layers::masking())(v[0])); }),
                    ContainsSubstring("a mask of shape [1, 2, 3] - expected [batch, steps]"));
}

TEST_CASE("a masked step repeats zeros before the first valid step, whatever the first state is (A-15)",
          "[layers][recurrent]") {
  const auto rnn = layers::rnn({.cell = std::make_shared<Sum10>(), .return_sequences = true});
  const Tensor x = tensor_of({1, 3, 1}, DType::float32, {1, 2, 3});
  const Tensor y =
      run({x, tensor_of({1, 3}, DType::boolean, {0, 1, 0})}, [&](Values v) { return (*rnn)(v[0].with_mask(v[1])); });
  CHECK(numbers(y) == std::vector<double>{0, 12, 12});
  CHECK(numbers((*rnn)(x)) == std::vector<double>{11, 13, 16});
}

TEST_CASE("states have the dtype of their cell, wherever they come from", "[layers][recurrent]") {
  const auto doubles = [] { return layers::gru_cell({.units = 2, .dtype = "float64"}); };
  const auto stacked = layers::stacked_rnn_cells(std::vector<LayerPtr>{doubles()});
  const Tensor x = sequence({1, 3, 2}), h = sequence({1, 2});
  for (const LayerPtr& cell : {LayerPtr(doubles()), LayerPtr(stacked)})
    for (const bool stateful : {false, true}) {
      const auto rnn = layers::rnn({.cell = cell, .stateful = stateful, .dtype = "float32"});
      CHECK((*rnn)(x).dtype() == DType::float64);
      CHECK((*rnn)({x, h}).dtype() == DType::float64);
      const Tensor masked = run({x, tensor_of({1, 3}, DType::boolean, {0, 1, 0})},
                                [&](Values v) { return (*rnn)(v[0].with_mask(v[1])); });
      CHECK(masked.dtype() == DType::float64);
      for (const Variable& state : rnn->own_states()) CHECK(state.dtype() == DType::float32);
    }
}

TEST_CASE("stacked cells continue from their states of the previous batch", "[layers][recurrent]") {
  const auto cells = [] {
    return layers::stacked_rnn_cells(
        std::vector<LayerPtr>{layers::lstm_cell({.units = 3}), layers::gru_cell({.units = 2})});
  };
  const auto whole = layers::rnn({.cell = cells()}), halves = layers::rnn({.cell = cells(), .stateful = true});
  const Tensor x = sequence({2, 4, 3});
  (*whole)(x);
  const auto half = [&](std::int64_t from) { return run({x}, [&](Values v) { return ops::slice(v[0], 1, from, 2); }); };
  (*halves)(half(0));
  halves->set_weights(whole->get_weights());
  halves->reset_state();
  (*halves)(half(0));
  CHECK(difference((*halves)(half(2)), (*whole)(x), {1e-6, 1e-6}) == "");
}

TEST_CASE("integers reach a custom cell as they are", "[layers][recurrent]") {
  // float16 has no 2049.
  class Words : public RnnCell {
   public:
    Words() : RnnCell("Words"), embedding_(layers::embedding({.input_dim = 2050, .output_dim = 1})) {}
    std::vector<LayerPtr> layers() const override { return {embedding_}; }
    std::vector<Shape> state_shapes(const Shape& x) const override { return {{x[0], 1, 1}}; }
    Step step(Value x, const std::vector<Value>& states, bool training) override {
      return {(*embedding_)(x, training), states};
    }

   private:
    LayerPtr embedding_;
  };
  const auto rnn = layers::rnn({.cell = std::make_shared<Words>(), .dtype = "mixed_float16"});
  const Tensor x = tensor_of({1, 1, 1}, DType::int32, {2049});
  (*rnn)(x);
  Tensor rows({2050, 1});
  rows.data<float>()[2049] = 7;
  rnn->set_weights({rows});
  CHECK((*rnn)(x).at(0) == 7);
}

TEST_CASE("a cell whose step returns invalid outputs or states is an Error with its name", "[layers][recurrent]") {
  const Tensor x = sequence({1, 2, 4});
  const auto error_for = [&](const char* fault) {
    const auto rnn = layers::rnn(LayerPtr(std::make_shared<Faulty>(fault)));
    return error_of([&] { (*rnn)(x); });
  };
  CHECK(error_for("nothing") == "no error");
  CHECK_THAT(error_for("no state"), ContainsSubstring("Faulty") && ContainsSubstring("no state"));
  CHECK_THAT(error_for("no output"), ContainsSubstring("Faulty") && ContainsSubstring("no output"));
  CHECK_THAT(error_for("an empty state"), ContainsSubstring("Faulty") && ContainsSubstring("expected [1, 4]"));
  CHECK_THAT(error_for("another shape"),
             ContainsSubstring("Faulty") && ContainsSubstring("a next state of shape [] - expected [1, 4]"));
}

TEST_CASE("the cell of an LSTM or a ConvLSTM cannot be copied", "[layers][recurrent]") {
  for (const auto& layer :
       {layers::lstm({.units = 2}), std::shared_ptr<Recurrent>(layers::conv_lstm1d({.filters = 1, .kernel_size = 1}))})
    CHECK_THROWS_WITH(layers::bidirectional(layers::rnn(LayerPtr(layer->cell()))), ContainsSubstring("copy()"));
}

TEST_CASE("SpectralNormalization within a cell is an error in training", "[layers][recurrent]") {
  class Normalized : public RnnCell {
   public:
    Normalized() : RnnCell("Normalized"), inner_(layers::spectral_normalization(layers::dense({.units = 4}))) {}
    std::vector<LayerPtr> layers() const override { return {inner_}; }
    std::vector<Shape> state_shapes(const Shape& x) const override { return {{x[0], 4}}; }
    Step step(Value x, const std::vector<Value>& states, bool training) override {
      const Value y = states[0] + (*inner_)(x, training);
      return {y, {y}};
    }

   private:
    LayerPtr inner_;
  };
  const auto rnn = layers::rnn(LayerPtr(std::make_shared<Normalized>()));
  const Tensor x = sequence({1, 2, 4});
  (*rnn)(x);
  CHECK_THROWS_WITH((*rnn)(x, true), ContainsSubstring("within the step of a loop"));
}

TEST_CASE("gradients by an empty Value, or by one of another trace, are an error", "[gradient]") {
  const auto error_by = [](const std::function<Value(Value)>& source) {
    return error_of([&] {
      run({Tensor({2})}, [&](Values v) {
        const Value sources[] = {v[0], source(v[0])};
        return gradients(ops::sum(v[0]), sources)[0];
      });
    });
  };
  Graph other;
  CHECK_THAT(error_of([] { gradients(Value{}, std::vector<Value>{}); }),
             ContainsSubstring("[gradients] an empty Value as the target"));
  CHECK(error_by([](Value x) { return x; }) == "no error");
  CHECK_THAT(error_by([](Value) { return Value{}; }),
             ContainsSubstring("[gradients] a Value of another trace, or an empty"));
  CHECK_THAT(error_by([&](Value) { return other.constant(1, DType::float32); }),
             ContainsSubstring("[gradients] a Value of another trace, or an empty"));
}
