#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>

#include "support.hpp"
#include "training_samples.hpp"

// Layers, losses, metrics and initializers that the cases of other libraries do not cover.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using testing::Compiled;
using testing::run;
using testing::tensor_of;

/// Sets the mask of its output: [batch, steps] where the first feature is not 0.
class Masks : public Layer {
 public:
  Masks() : Layer("Masks") {}
  Value call(Value value, bool) override {
    const Shape& shape = value.shape();
    Value first = ops::max(value, {-1});
    for (std::ptrdiff_t axis = 2; axis + 1 < static_cast<std::ptrdiff_t>(shape.rank()); ++axis)
      first = ops::max(first, {axis});
    return value.with_mask(ops::logical_not(ops::equal(first, ops::scalar(0, first))));
  }
};

/// Two sequences of three steps; the last step of the first and the last two of the second are zeros.
Tensor sequences() { return Tensor::from<float>({2, 3, 2}, {1, 2, 3, 4, 0, 0, 5, 6, 0, 0, 0, 0}); }

double loss_of(std::vector<LayerPtr> layers, const Batch& batch, CompileOptions how) {
  Sequential model(std::move(layers));
  model.compile(std::move(how));
  return model.test_on_batch(batch)["loss"];
}

LayerPtr ones(std::int64_t units = 1) {
  return layers::dense({.units = units, .use_bias = false, .kernel_initializer = "ones"});
}

}  // namespace

TEST_CASE("masks are propagated through layers to losses and metrics (R-3)", "[mask]") {
  // Sums of the unmasked steps: 3, 7 and 11. The others would have a loss of 0.
  const Batch batch{{sequences()}, {Tensor({2, 3, 1})}, {}};
  const CompileOptions how{.loss = "mse", .metrics = {"mse"}};
  const auto through = [&](LayerPtr layer) {
    return loss_of({std::make_shared<Masks>(), std::move(layer), ones()}, batch, how);
  };
  const double masked = (9.0 + 49 + 121) / 3;
  CHECK_THAT(loss_of({ones()}, batch, how), WithinRel((9.0 + 49 + 121) / 6, 1e-6));
  CHECK_THAT(through(layers::activation("linear")), WithinRel(masked, 1e-6));
  CHECK_THAT(through(layers::activation("relu")), WithinRel(masked, 1e-6));
  CHECK_THAT(through(layers::dropout(0.5)), WithinRel(masked, 1e-6));
  CHECK_THAT(through(layers::rescaling({})), WithinRel(masked, 1e-6));

  Sequential model({std::make_shared<Masks>(), ones()});
  model.compile(how);
  CHECK_THAT(model.test_on_batch(batch)["mse"], WithinRel(masked, 1e-6));
}

TEST_CASE("masks and sample weights are multiplied, for any number of their axes", "[mask]") {
  const Tensor targets({2, 3, 1}), per_sample = Tensor::from<float>({2}, {1, 3}),
                                   per_step = Tensor::from<float>({2, 3}, {1, 1, 9, 3, 9, 9});
  const CompileOptions how{.loss = "mse", .weighted_metrics = {"mse"}};
  for (const Tensor& weight : {per_sample, per_step}) {
    Sequential model({std::make_shared<Masks>(), ones()});
    model.compile(how);
    const Logs logs = model.test_on_batch(Batch{{sequences()}, {targets}, {weight}});
    CHECK_THAT(logs["loss"], WithinRel((9 + 49 + 3 * 121.0) / 3, 1e-6));  // by the count
    CHECK_THAT(logs["mse"], WithinRel((9 + 49 + 3 * 121.0) / 5, 1e-6));   // by the weights
  }
}

TEST_CASE("a custom metric gets the mask of the predictions as a part of its weights", "[mask]") {
  const Tensor y_pred = tensor_of({2, 2}, DType::float32, {1, 2, 3, 4});
  const Tensor mask = tensor_of({2, 2}, DType::boolean, {1, 0, 1, 1});
  const auto weights = [&](const Tensor& weight, bool weighted = true) {
    return numbers(run({y_pred, mask, weight}, [&](std::span<const Value> v) {
      return masked_weight(v[0].with_mask(v[1]), weighted ? v[2] : Value{});
    }));
  };
  CHECK(weights(tensor_of({2}, DType::float32, {2, 3})) == std::vector<double>{2, 0, 3, 3});
  CHECK(weights(tensor_of({2, 2}, DType::float32, {2, 3, 4, 5})) == std::vector<double>{2, 0, 4, 5});
  CHECK(weights(mask, false) == std::vector<double>{1, 0, 1, 1});
  run({tensor_of({1}, DType::float32, {1})}, [](std::span<const Value> v) {
    CHECK(!masked_weight(v[0], {}));
    CHECK(masked_weight(v[0], v[0]).id() == v[0].id());
    return v[0];
  });
}

TEST_CASE("layers that do not support masks drop them: convolutions, shapes, custom ones", "[mask]") {
  struct Twice : Layer {
    explicit Twice(bool masks) : Layer("Twice") { set_supports_masking(masks); }
    Value call(Value x, bool) override { return x * 2.0; }
  };
  const Batch batch{{sequences()}, {Tensor({2, 3, 1})}, {}};
  const auto through = [&](LayerPtr layer) {
    return loss_of({std::make_shared<Masks>(), std::move(layer), ones()}, batch, {.loss = "mse"});
  };
  const double squares = 9.0 + 49 + 121;
  const LayerPtr convolution =
      layers::conv1d({.filters = 1, .kernel_size = 1, .use_bias = false, .kernel_initializer = "ones"});
  CHECK_THAT(through(convolution), WithinRel(squares / 6, 1e-6));
  CHECK_THAT(loss_of({std::make_shared<Masks>(), layers::reshape({.target_shape = {3, 1, 2}}), ones()},
                     {{sequences()}, {Tensor({2, 3, 1, 1})}, {}}, {.loss = "mse"}),
             WithinRel(squares / 6, 1e-6));
  CHECK_THAT(through(std::make_shared<Twice>(false)), WithinRel(4 * squares / 6, 1e-6));
  CHECK_THAT(through(std::make_shared<Twice>(true)), WithinRel(4 * squares / 3, 1e-6));
}

TEST_CASE("a layer that removes the axis of steps removes the mask", "[mask]") {
  const Batch batch{{sequences()}, {Tensor({2, 1})}, {}};
  // Flatten merges steps and features: 21 = 1 + … + 6 in two rows, 10 and 11.
  CHECK_THAT(loss_of({std::make_shared<Masks>(), layers::flatten(), ones()}, batch, {.loss = "mse"}),
             WithinRel((100 + 121) / 2.0, 1e-6));
  const Tensor one_feature = Tensor::from<float>({2, 3, 1}, {1, 2, 0, 3, 0, 0});
  CHECK_THAT(
      loss_of({std::make_shared<Masks>(), layers::flatten()}, {{one_feature}, {Tensor({2, 3})}, {}}, {.loss = "mse"}),
      WithinRel((1 + 4 + 9) / 6.0, 1e-6));
}

TEST_CASE("a layer computes in its dtype, independent of the layers around it", "[layers]") {
  const LayerPtr wide = layers::dense({.units = 3, .dtype = "float64"}), narrow = layers::dense({.units = 1});
  Sequential model({wide, narrow});
  model.compile(mse());
  const Tensor x = waves({8, 2});
  model.fit(x, signs_of(x), {.verbose = 0});
  CHECK(wide->get_weights()[0].dtype() == DType::float64);
  CHECK(narrow->get_weights()[0].dtype() == DType::float32);
  CHECK((*wide)(x).dtype() == DType::float64);
  CHECK(model.predict(x, {.verbose = 0}).dtype() == DType::float32);
  CHECK(wide->compute_dtype() == DType::float64);
  const testing::FloatX scope(DType::float64);
  CHECK(layers::dense({.units = 1})->variable_dtype() == DType::float64);
  CHECK(narrow->variable_dtype() == DType::float32);
}

TEST_CASE("flatten merges all axes but the first; channels_first data is transposed before (A-18)", "[layers]") {
  const Tensor x = Tensor::from<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(numbers((*layers::flatten())(x)) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(numbers((*layers::flatten({.data_format = "channels_first"}))(x)) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK((*layers::flatten())(waves({4, 2, 3, 5})).shape() == Shape{4, 30});
  CHECK((*layers::flatten())(waves({4})).shape() == Shape{4, 1});
}

TEST_CASE("crossentropies after softmax and sigmoid are the same from logits and from probabilities (R-11)",
          "[losses]") {
  struct Case {
    const char *activation, *loss;
    Tensor y;
  };
  const auto test = GENERATE(Case{"softmax", "sparse_categorical_crossentropy", Tensor::from<float>({4}, {0, 2, 1, 2})},
                             Case{"softmax", "categorical_crossentropy",
                                  Tensor::from<float>({4, 3}, {1, 0, 0, 0, 0, 1, 0, 1, 0, 0.5, 0.25, 0.25})},
                             Case{"sigmoid", "binary_crossentropy", filled({4, 3}, 1)});
  CAPTURE(test.loss);
  const auto train = [&](bool fused) {
    Sequential model({layers::dense(
        {.units = 3, .activation = test.activation, .kernel_initializer = initializers::glorot_uniform({.seed = 1})})});
    model.compile({.optimizer = optimizers::sgd({.learning_rate = 0.5}), .loss = test.loss, .fuse_logits = fused});
    const auto history = model.fit(waves({4, 5}), test.y, {.epochs = 5, .verbose = 0});
    auto all = weights_of(model);
    all.insert(all.end(), (*history)["loss"].begin(), (*history)["loss"].end());
    return all;
  };
  CHECK(testing::difference(train(true), train(false), {.atol = 2e-6, .rtol = 2e-6}) == "");
}

TEST_CASE("two models with one loss object each have their own fuse_logits", "[losses]") {
  const LossPtr loss = losses::categorical_crossentropy();
  const auto model_of = [&](bool fused) {
    auto model = std::make_unique<Sequential>(
        std::vector<LayerPtr>{layers::rescaling({.scale = 100}), layers::activation("softmax")});
    model->compile({.loss = loss, .fuse_logits = fused});
    return model;
  };
  const Tensor x = Tensor::from<float>({1, 2}, {1, -1}), y = Tensor::from<float>({1, 2}, {0, 1});
  const auto clipped = model_of(false), fused = model_of(true);
  CHECK_THAT(clipped->evaluate(x, y, {.verbose = 0})["loss"], WithinRel(-std::log(1e-7), 1e-4));
  CHECK_THAT(fused->evaluate(x, y, {.verbose = 0})["loss"], WithinRel(200, 1e-6));
}

TEST_CASE("crossentropies from logits are not clipped (R-11)", "[losses]") {
  const auto loss = [](const char* activation, const char* name, const Tensor& y, bool fused) {
    return loss_of({layers::rescaling({.scale = 100}), layers::activation(activation)},
                   {{Tensor::from<float>({1, 2}, {1, -1})}, {y}, {}}, {.loss = name, .fuse_logits = fused});
  };
  const Tensor second = Tensor::from<float>({1, 2}, {0, 1});
  CHECK_THAT(loss("softmax", "categorical_crossentropy", second, true), WithinRel(200, 1e-6));
  CHECK_THAT(loss("softmax", "categorical_crossentropy", second, false), WithinRel(-std::log(1e-7), 1e-4));
  CHECK_THAT(loss("sigmoid", "binary_crossentropy", second, true), WithinRel(100, 1e-6));
  CHECK(loss("sigmoid", "binary_crossentropy", second, false) < 17);
}

TEST_CASE("'accuracy' is resolved by shapes, and logged under the name it was given (M-1)", "[metrics]") {
  struct Case {
    const char* what;
    Tensor y_true, y_pred;
    double expected;
  };
  const auto test = GENERATE(Case{"binary, [n] targets", Tensor::from<float>({3}, {1, 0, 1}),
                                  Tensor::from<float>({3, 1}, {0.9F, 0.5F, 0.1F}), 2.0 / 3},
                             Case{"binary, integer targets", Tensor::from<std::int32_t>({3, 1}, {1, 0, 1}),
                                  Tensor::from<float>({3, 1}, {0.9F, 0.6F, 0.1F}), 1.0 / 3},
                             Case{"sparse, [n] integer targets", Tensor::from<std::int32_t>({2}, {2, 0}),
                                  Tensor::from<float>({2, 3}, {0, 0, 1, 0, 1, 0}), 0.5},
                             Case{"sparse, [n, 1] targets", Tensor::from<float>({2, 1}, {2, 1}),
                                  Tensor::from<float>({2, 3}, {0, 0, 1, 0, 1, 0}), 1},
                             Case{"sparse, uint8 targets", Tensor::from<std::uint8_t>({2}, {2, 1}),
                                  Tensor::from<float>({2, 3}, {0, 0, 1, 0, 1, 0}), 1},
                             Case{"categorical", Tensor::from<float>({2, 3}, {0, 0, 1, 1, 0, 0}),
                                  Tensor::from<float>({2, 3}, {0, 0, 1, 0, 1, 0}), 0.5},
                             Case{"categorical, ties are the lowest's (M-3)", Tensor::from<float>({2, 2}, {1, 0, 0, 1}),
                                  Tensor::from<float>({2, 2}, {1, 1, 1, 1}), 0.5},
                             Case{"sparse, per step", Tensor::from<std::int32_t>({1, 2}, {1, 1}),
                                  Tensor::from<float>({1, 2, 2}, {0, 1, 1, 0}), 0.5});
  CAPTURE(test.what);
  Sequential model({layers::activation("linear")});
  const auto loss = losses::from_function([](Value, Value y_pred) { return ops::mean(y_pred, {-1}); });
  model.compile({.loss = loss, .metrics = {"accuracy", "acc"}});
  const Logs logs = model.test_on_batch(Batch{{test.y_pred}, {test.y_true}, {}});
  CHECK_THAT(logs["accuracy"], WithinRel(test.expected, 1e-6));
  CHECK_THAT(logs["acc"], WithinRel(test.expected, 1e-6));
}

TEST_CASE("metrics accumulate until they are reset, and are 0 before the first value (M-9)", "[metrics]") {
  const MetricPtr metric = metrics::mean();
  const auto result = [&] { return testing::run({}, [&](auto) { return metric->result(); }).item(); };
  const auto update = [&](std::initializer_list<float> values) {
    const Tensor tensor = Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values);
    Compiled step(std::span(&tensor, 1), [&](Graph&, std::span<const Value> v) {
      metric->update_state({}, v[0]);
      return Compiled::Outcome{};
    });
    step.run({tensor});
  };
  CHECK(result() == 0);
  update({1, 2, 3});
  CHECK(result() == 2);
  update({6});
  CHECK(result() == 3);
  metric->reset_state();
  CHECK(result() == 0);
  update({5});
  CHECK(result() == 5);
}

TEST_CASE("a variable of a custom metric has the values and the dtype that it is given", "[metrics]") {
  struct Least : Metric {
    Least() : Metric("least"), least(add_variable_of("least", tensor_of({2}, DType::int32, {7, 8}))) {}
    void update_state(Value, Value, Value) override {}
    Value result() const override { return Graph::current().read(least); }
    Variable least;
  };
  const Least metric;
  CHECK(metric.least.name() == "least/least");
  CHECK(metric.least.dtype() == DType::int32);
  CHECK(numbers(metric.least.value()) == std::vector<double>{7, 8});
  CHECK(metric.variables() == std::vector<Variable>{metric.least});
}

// Results of Keras 3.15.1 on TensorFlow 2.21. The metrics round in float32, the dtype of their functions' operands.
TEST_CASE("a loss and a metric compute in their dtype", "[losses][metrics]") {
  struct Row {
    const char* dtype;
    DType of_result;
    double loss, metric, mean, r2, tolerance, tolerance_of_metrics;
  };
  const Row row =
      GENERATE(Row{"float64", DType::float64, 0.14833332384626904, 0.14833331853151321, 683.3333333333334,
                   0.9340741038322449, 1e-12, 1e-7},
               // 2049 is not a float16.
               Row{"float16", DType::float16, 0.1480712890625, 0.1483154296875, 682.5, 0.9341623187065125, 2e-3, 2e-3});
  const Tensor t = Tensor::from<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  const Tensor p = Tensor::from<float>({2, 3}, {0.1F, 1.3F, 2.7F, 2.9F, 4.2F, 5.5F});
  const auto check_result = [&](const Tensor& result, double expected, double tolerance) {
    CHECK(result.dtype() == row.of_result);
    CHECK_THAT(numbers(result)[0], WithinRel(expected, tolerance));
  };
  const LossPtr loss = losses::mean_squared_error({.dtype = row.dtype});
  check_result(run({t, p}, [&](auto v) { return (*loss)(v[0], v[1]); }), row.loss, row.tolerance);
  const auto result_of = [](const MetricPtr& metric, std::initializer_list<std::pair<Tensor, Tensor>> batches) {
    for (const auto& [y_true, y_pred] : batches) {
      const Tensor inputs[] = {y_true, y_pred};
      Compiled step(inputs, [&](Graph&, std::span<const Value> v) {
        metric->update_state(v[0], v[1]);
        return Compiled::Outcome{};
      });
      step.run(inputs);
    }
    return run({}, [&](auto) { return metric->result(); });
  };
  check_result(result_of(metrics::mean_squared_error({.dtype = row.dtype}), {{t, p}}), row.metric,
               row.tolerance_of_metrics);
  check_result(result_of(metrics::r2_score({.dtype = row.dtype}), {{t, p}}), row.r2, row.tolerance_of_metrics);
  const auto one = [](float number) { return std::pair(Tensor({}, floatx()), Tensor::from<float>({}, {number})); };
  check_result(result_of(metrics::mean({.dtype = row.dtype}), {one(2048), one(1), one(1)}), row.mean, row.tolerance);
}

TEST_CASE("metrics: a sample counts once, for any number of steps per batch (R-4)", "[metrics]") {
  Sequential model({layers::activation("linear")});
  model.compile({.loss = "mse", .metrics = {"mse"}});
  const Batch shorter{{filled({2, 1, 1}, 1)}, {Tensor({2, 1, 1})}, {}},
      longer{{filled({2, 9, 1}, 3)}, {Tensor({2, 9, 1})}, {}};
  model.test_on_batch(shorter);
  CHECK_THAT(model.test_on_batch(longer, {.reset_metrics = false})["mse"], WithinRel(5, 1e-6));
}

TEST_CASE("metrics ignore sample weights, weighted metrics use them (M-10)", "[metrics]") {
  Sequential model(summing_unit());
  model.compile({.loss = "mse", .metrics = {"mse"}, .weighted_metrics = {"mse"}});
  const Logs logs = model.test_on_batch(
      Batch{{Tensor::from<float>({2, 1}, {1, 3})}, {Tensor({2, 1})}, {Tensor::from<float>({2}, {3, 1})}});
  CHECK(logs["mse"] == 5);
  CHECK(logs["weighted_mse"] == 3);
  CHECK(logs["loss"] == 6);
}

TEST_CASE("initializers: the standard deviation of random ones follows from fan-in and fan-out (A-4)",
          "[initializers]") {
  struct Case {
    const char* name;
    /// The largest possible value and the standard deviation, for a shape of fans 100 and 300.
    double limit, deviation;
  };
  const double cut = 2 / 0.87962566103423978;
  const auto test = GENERATE_COPY(Case{"glorot_uniform", std::sqrt(6.0 / 400), std::sqrt(2.0 / 400)},
                                  Case{"glorot_normal", cut * std::sqrt(2.0 / 400), std::sqrt(2.0 / 400)},
                                  Case{"he_uniform", std::sqrt(6.0 / 100), std::sqrt(2.0 / 100)},
                                  Case{"he_normal", cut * std::sqrt(2.0 / 100), std::sqrt(2.0 / 100)},
                                  Case{"lecun_uniform", std::sqrt(3.0 / 100), std::sqrt(1.0 / 100)},
                                  Case{"lecun_normal", cut * std::sqrt(1.0 / 100), std::sqrt(1.0 / 100)},
                                  Case{"random_uniform", 0.05, 0.05 / std::sqrt(3.0)}, Case{"random_normal", 0.3, 0.05},
                                  Case{"truncated_normal", 0.1, 0.05 * 0.87962566103423978});
  CAPTURE(test.name);
  const Shape shape = GENERATE(Shape{100, 300}, Shape{5, 5, 4, 12});
  double largest = 0, sum = 0, squares = 0;
  const auto values = numbers((*initializers::get(test.name))(shape, DType::float32));
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    largest = std::max(largest, std::abs(value));
    sum += value;
    squares += value * value;
  }
  CHECK(largest <= test.limit * (1 + 1e-6));
  CHECK(largest > 0.5 * test.limit);
  CHECK_THAT(sum / count, WithinAbs(0, 5 * test.deviation / std::sqrt(count)));
  CHECK_THAT(std::sqrt(squares / count), WithinRel(test.deviation, 0.05));
}

TEST_CASE("initializers: an own seed repeats its draws; the global seed gives each call its own stream",
          "[initializers]") {
  const auto draw = [](const InitializerPtr& initializer) { return numbers((*initializer)({4, 4}, DType::float32)); };
  const InitializerPtr seeded = initializers::glorot_uniform({.seed = 1}), global = initializers::glorot_uniform();
  CHECK(draw(seeded) == draw(seeded));
  CHECK(draw(seeded) != draw(initializers::glorot_uniform({.seed = 2})));
  set_random_seed(3);
  const auto first = draw(global), second = draw(global);
  CHECK(first != second);
  set_random_seed(3);
  CHECK(draw(initializers::glorot_uniform()) == first);
  set_random_seed(4);
  CHECK(draw(global) != first);
  set_random_seed(0);
}

TEST_CASE("initializers: float32 and float64 start with the same values", "[initializers]") {
  const InitializerPtr initializer = initializers::he_normal({.seed = 5});
  const auto narrow = (*initializer)({6, 6}, DType::float32), wide = (*initializer)({6, 6}, DType::float64);
  CHECK(numbers(wide.astype(DType::float32)) == numbers(narrow));
}

}  // namespace etude
