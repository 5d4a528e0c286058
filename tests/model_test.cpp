#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "training_samples.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

const Tensor x = waves({8, 3}), y = signs_of(x);

std::string summary_of(const Model& model) {
  std::string text;
  model.summary({.print_fn = [&](std::string_view part) { text += part; }});
  return text;
}

}  // namespace

TEST_CASE("sequential: built by its first data, or by build()", "[model]") {
  Sequential model(two_dense());
  CHECK_FALSE(model.built());
  CHECK(model.get_weights().empty());
  model.build({-1, 3});
  CHECK(model.built());
  REQUIRE(model.get_weights().size() == 4);
  CHECK(model.get_weights()[0].shape() == Shape{3, 4});
  Sequential other(two_dense());
  other.predict(x, {.verbose = 0});
  CHECK(weights_of(other) == weights_of(model));
}

TEST_CASE("summary prints layers, shapes and parameters", "[model]") {
  reset_names();
  Sequential model({layers::flatten(), layers::dense({.units = 512, .activation = "relu"}), layers::dropout(0.5),
                    layers::dense({.units = 10, .trainable = false})},
                   {.name = "hello"});
  CHECK_THAT(summary_of(model), ContainsSubstring("0 (unbuilt)") && ContainsSubstring("dense_1 (Dense)"));
  model.build({-1, 28, 28});
  CHECK(summary_of(model) ==
        "Model: \"hello\"\n"
        "┏━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━┳━━━━━━━━━┓\n"
        "┃ Layer (type)      ┃ Output Shape ┃ Param # ┃\n"
        "┡━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━┩\n"
        "│ flatten (Flatten) │ (None, 784)  │       0 │\n"
        "├───────────────────┼──────────────┼─────────┤\n"
        "│ dense (Dense)     │ (None, 512)  │ 401,920 │\n"
        "├───────────────────┼──────────────┼─────────┤\n"
        "│ dropout (Dropout) │ (None, 512)  │       0 │\n"
        "├───────────────────┼──────────────┼─────────┤\n"
        "│ dense_1 (Dense)   │ (None, 10)   │   5,130 │\n"
        "└───────────────────┴──────────────┴─────────┘\n"
        " Total params: 407,050 (1.55 MB)\n"
        " Trainable params: 401,920 (1.53 MB)\n"
        " Non-trainable params: 5,130 (20.04 KB)\n");
}

TEST_CASE("get_layer finds by name and by index", "[model]") {
  Sequential model({layers::dense({.units = 1, .name = "one"}), layers::dense({.units = 2, .name = "two"})});
  CHECK(model.get_layer("two") == model.get_layer(1));
  CHECK_THAT(error_of([&] { model.get_layer("three"); }),
             ContainsSubstring("get_layer(\"three\") - expected one of: one, two"));
  CHECK_THAT(error_of([&] { model.get_layer(2); }), ContainsSubstring("below 2"));
}

TEST_CASE("set_weights sets all or nothing", "[model]") {
  Sequential model(two_dense()), other({layers::dense({.units = 4}), layers::dense({.units = 1})});
  CHECK_THAT(error_of([&] { model.set_weights({x}); }), ContainsSubstring("not built yet"));
  for (Sequential* m : {&model, &other}) m->build({-1, 3});
  auto weights = other.get_weights();
  model.set_weights(weights);
  CHECK(weights_of(model) == weights_of(other));
  const auto before = weights_of(model);
  weights[0] = filled({3, 4}, 5);
  weights[3] = filled({2}, 5);
  CHECK_THAT(error_of([&] { model.set_weights(weights); }), ContainsSubstring("[2]") && ContainsSubstring("[1]"));
  CHECK(weights_of(model) == before);
}

TEST_CASE("new weights apply to the next step and the next prediction, without a new trace", "[model]") {
  Sequential model(summing_unit());
  model.compile(mse(0));
  const Tensor ones = filled({2, 3}, 1);
  CHECK(model.predict(ones, {.verbose = 0}).at(0) == 3);
  CHECK(model.train_on_batch(ones, filled({2, 1}, 0))["loss"] == 9);
  model.set_weights({filled({3, 1}, 2)});
  CHECK(model.predict(ones, {.verbose = 0}).at(0) == 6);
  CHECK(model.train_on_batch(ones, filled({2, 1}, 0))["loss"] == 36);
  CHECK(model.make_train_function()->traces() == 1);
}

TEST_CASE("predict concatenates all batches, with the partial one (L-26)", "[model]") {
  Sequential model(two_dense(4, 2));
  const Tensor all = model.predict(x, {.verbose = 0});
  CHECK(all.shape() == Shape{8, 2});
  CHECK(numbers(model.predict(x, {.batch_size = 3, .verbose = 0})) == numbers(all));
  CHECK(numbers(model.predict(Data(batches_of(x, y, 3, 3)), {.verbose = 0})) == numbers(all));
  CHECK(numbers(model.predict(x, {.batch_size = 3, .verbose = 0, .steps = 2})) == numbers(all.rows(0, 6)));
  CHECK(numbers(model.predict_on_batch(x.rows(0, 1))) == numbers(all.rows(0, 1)));
}

TEST_CASE("predict returns the model's outputs, even if they have more rows than the inputs", "[model]") {
  struct Twice : Sequential {
    Outputs predict_step(const StepData& data) override {
      const Value two =
          ops::broadcast_to(ops::expand_dims(data.x[0], 1), {data.x[0].shape()[0], 2, data.x[0].shape()[1]});
      return ops::reshape(two, {2 * data.x[0].shape()[0], data.x[0].shape()[1]});
    }
  } model;
  model.add(layers::activation("linear"));
  const Tensor result = model.predict(x, {.batch_size = 3, .verbose = 0});
  REQUIRE(result.shape() == Shape{16, 3});
  for (std::int64_t row = 0; row < 8; ++row) {
    CHECK(numbers(result.rows(2 * row, 2 * row + 1)) == numbers(x.rows(row, row + 1)));
    CHECK(numbers(result.rows(2 * row + 1, 2 * row + 2)) == numbers(x.rows(row, row + 1)));
  }
}

TEST_CASE("evaluate returns loss and metrics over all rows, in the order of metrics_names (L-25)", "[model]") {
  Sequential model(two_dense());
  model.compile({.loss = "mse", .metrics = {"accuracy"}});
  const Logs whole = model.evaluate(x, y, {.batch_size = 8, .verbose = 0}),
             cut = model.evaluate(x, y, {.batch_size = 3, .verbose = 0});
  CHECK(keys(whole) == "loss,accuracy");
  CHECK(model.metrics_names() == Texts{"loss", "accuracy"});
  CHECK_THAT(whole["loss"], WithinAbs(cut["loss"], 1e-6));
  CHECK_THAT(whole["accuracy"], WithinAbs(cut["accuracy"], 1e-6));
}

TEST_CASE("compile keeps weights, and resets the optimizer (L-29)", "[model]") {
  Sequential model(two_dense());
  model.compile(mse());
  model.fit(x, y, {.epochs = 3, .verbose = 0});
  const auto weights = weights_of(model);
  CHECK(model.optimizer().iterations() == 3);
  const auto function = model.make_train_function();
  model.compile({.optimizer = "adam", .loss = "mse"});
  CHECK(weights_of(model) == weights);
  CHECK(model.optimizer().iterations() == 0);
  CHECK(model.make_train_function() != function);
  model.fit(x, y, {.verbose = 0});
  CHECK(model.optimizer().iterations() == 1);
  CHECK(weights_of(model) != weights);
}

TEST_CASE("a failing compile leaves the model unchanged", "[model]") {
  Sequential model(two_dense());
  model.compile(mse());
  model.fit(x, y, {.verbose = 0});
  CHECK_THROWS_AS(model.compile({.optimizer = "adam", .loss = "no such loss"}), Error);
  CHECK(model.optimizer().name() == "SGD");
  model.fit(x, y, {.verbose = 0});
  CHECK(model.optimizer().iterations() == 2);
}

TEST_CASE("trainable flags take effect at compile (L-28)", "[model]") {
  Sequential model(two_dense());
  model.compile(mse());
  model.build({-1, 3});
  const auto kernel = [&](std::size_t index) { return numbers(model.get_layer(index)->get_weights()[0]); };
  model.get_layer(0)->set_trainable(false);
  const auto first = kernel(0);
  model.fit(x, y, {.verbose = 0});
  CHECK(kernel(0) != first);  // trainable at compile()
  CHECK_FALSE(model.get_layer(0)->trainable());

  model.compile(mse());
  const auto frozen = kernel(0), free = kernel(1);
  model.get_layer(0)->set_trainable(true);
  model.fit(x, y, {.verbose = 0});
  CHECK(kernel(0) == frozen);
  CHECK(kernel(1) != free);
  CHECK(model.get_layer(0)->trainable());
}

TEST_CASE("layers added or removed after training apply to the next step", "[model]") {
  Sequential model(summing_unit());
  model.compile(mse());
  model.fit(x, y, {.verbose = 0});
  model.predict(x, {.verbose = 0});
  model.add(layers::activation("sigmoid"));
  for (double number : numbers(model.predict(x, {.verbose = 0}))) CHECK((number > 0 && number < 1));
  model.pop();
  model.add(layers::dense({.units = 2}));
  CHECK(model.predict(x, {.verbose = 0}).shape() == Shape{8, 2});
  CHECK_THAT(error_of([&] { model.add(model.get_layer(0)); }), ContainsSubstring("expected unique names"));
}

TEST_CASE("models nest: a Sequential in a Sequential trains as one", "[model]") {
  auto inner = std::make_shared<Sequential>(std::vector<LayerPtr>{two_dense()[0]});
  Sequential outer({inner, two_dense()[1]}), flat(two_dense());
  for (Sequential* model : {&outer, &flat}) {
    model->compile(mse());
    model->fit(x, y, {.batch_size = 3, .epochs = 3, .verbose = 0});
  }
  CHECK(weights_of(outer) == weights_of(flat));
  CHECK(outer.trainable_variables().size() == 4);
  CHECK_THAT(summary_of(outer), ContainsSubstring("(Sequential)") && ContainsSubstring("16"));
}

TEST_CASE("a layer called on a Tensor computes at once", "[model]") {
  Sequential model(summing_unit());
  CHECK(numbers(model(filled({2, 3}, 2))) == std::vector{6.0, 6.0});
  const LayerPtr dense = layers::dense({.units = 2, .kernel_initializer = "ones"});
  CHECK((*dense)(Tensor::from<double>({1, 2}, {1.0, 2.0})).at(1) == 3);
  CHECK(dense->built());
  CHECK((*layers::rescaling({.scale = 0.5}))(Tensor::from<std::uint8_t>({2}, {2, 255})).at(1) == 127.5);
}

TEST_CASE("integer inputs keep their type: uint8 images through Rescaling (L-38)", "[model]") {
  Tensor bytes({4, 2}, DType::uint8);
  for (std::uint8_t& byte : bytes.data<std::uint8_t>())
    byte = static_cast<std::uint8_t>(17 + 60 * (&byte - bytes.data<std::uint8_t>().data()) % 200);
  Tensor floats = bytes.astype(DType::float32);
  for (float& number : floats.data<float>()) number *= 1.0F / 256;
  Sequential images({layers::rescaling({.scale = 1.0 / 256}), two_dense()[0], two_dense()[1]}), plain(two_dense());
  for (Sequential* model : {&images, &plain}) model->compile(mse());
  const Tensor targets = signs_of(waves({4, 1}));
  const auto a = images.fit(bytes, targets, {.batch_size = 3, .epochs = 2, .verbose = 0}),
             b = plain.fit(floats, targets, {.batch_size = 3, .epochs = 2, .verbose = 0});
  for (std::size_t i = 0; i < 2; ++i) CHECK_THAT((*a)["loss"][i], WithinAbs((*b)["loss"][i], 1e-6));
}

TEST_CASE("Rescaling has a scale and an offset for each channel, broadcast by NumPy's rule", "[model]") {
  const Tensor bytes = Tensor::from<std::uint8_t>({2, 1, 3}, {1, 2, 3, 4, 5, 255});
  const LayerPtr channels = layers::rescaling({.scale = {2, 0.5, 1}, .offset = {0, 1, -1}});
  CHECK(numbers((*channels)(bytes)) == std::vector<double>{2, 2, 2, 8, 3.5, 254});
  CHECK(channels->weights().empty());
  const LayerPtr rows = layers::rescaling({.scale = 1, .offset = Tensor::from<std::int32_t>({1, 1}, {7})});
  CHECK(numbers((*rows)(bytes)) == std::vector<double>{8, 9, 10, 11, 12, 262});
  const auto error = [&](const Shape& scale) {
    return error_of([&] { (*layers::rescaling({.scale = Tensor(scale)}))(bytes); });
  };
  CHECK_THAT(error({2}), ContainsSubstring("[2, 1, 3]") && ContainsSubstring("[2]"));
  CHECK_THAT(error({4, 1, 1, 1}), ContainsSubstring("a result of shape [4, 2, 1, 3] - expected [2, 1, 3]"));
}

TEST_CASE("float64 arrays are cast to floatx, targets and weights too (L-38)", "[model]") {
  Sequential doubles(two_dense()), floats(two_dense());
  for (Sequential* model : {&doubles, &floats}) model->compile(mse());
  const Tensor weight = filled({8}, 0.5);
  doubles.fit(x.astype(DType::float64), y.astype(DType::float64), weight.astype(DType::float64), {.verbose = 0});
  floats.fit(x, y, weight, {.verbose = 0});
  CHECK(weights_of(doubles) == weights_of(floats));
}

TEST_CASE("targets of [n] fit predictions of [n, 1], and never broadcast to [n, n] (L-34)", "[model]") {
  Sequential flat(two_dense()), column(two_dense());
  for (Sequential* model : {&flat, &column})
    model->compile({.optimizer = optimizers::sgd(), .loss = "mse", .metrics = {"accuracy"}});
  const auto a = flat.fit(x, y.reshape({8}), {.batch_size = 3, .epochs = 2, .verbose = 0}),
             b = column.fit(x, y, {.batch_size = 3, .epochs = 2, .verbose = 0});
  CHECK(a->history() == b->history());
  CHECK(weights_of(flat) == weights_of(column));
}

TEST_CASE("data may be x, (x, y) or (x, y, sample_weight) (L-36)", "[model]") {
  Sequential model(summing_unit());
  model.compile(mse(0));
  CHECK(model.predict(Data(filled({2, 3}, 1)), {.verbose = 0}).at(0) == 3);
  CHECK(model.evaluate(Data(filled({2, 3}, 1), filled({2, 1}, 1)), {.verbose = 0})["loss"] == 4);
  CHECK(model.evaluate(Data(filled({2, 3}, 1), filled({2, 1}, 1), Tensor::from<float>({2}, {1, 2})),
                       {.verbose = 0})["loss"] == 6);
  const auto generator = [calls = 0]() mutable {
    return calls++ ? std::nullopt : std::optional(Batch{{filled({2, 3}, 1)}, {filled({2, 1}, 1)}, {filled({2}, 3)}});
  };
  CHECK(model.evaluate(Data(generator), {.verbose = 0})["loss"] == 12);
}

TEST_CASE("a model uses the strategy of the scope in which it was made", "[model]") {
  CHECK(get_strategy()->name() == "OneDeviceStrategy");
  CHECK(get_strategy()->num_replicas_in_sync() == 1);
  const auto own = std::make_shared<OneDeviceStrategy>(default_device());
  {
    const auto scope = own->scope();
    CHECK(get_strategy() == own);
    CHECK(Sequential(two_dense()).strategy() == own);
    {
      const auto inner = std::make_shared<OneDeviceStrategy>()->scope();
      CHECK(get_strategy() != own);
    }
    CHECK(get_strategy() == own);
  }
  CHECK(get_strategy() != own);
}

}  // namespace etude
