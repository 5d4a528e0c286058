#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <regex>

#include "training_samples.hpp"

// Errors have the standard form, are thrown as early as possible, and leave the model unchanged.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

const Tensor x = waves({8, 3}), y = signs_of(x);

/// `[where] what came - what was expected - what to do.`, or Keras's `expected …, received …. What to do.`
bool in_house_form(const std::string& text) {
  static const std::regex form(R"(\[[^\]]+\] (.+ - .+ - .+|.*expected .+, received .+\. .+)\.)");
  return std::regex_match(text, form);
}

struct Case {
  const char* what;
  std::function<void(Sequential&)> action;
  /// The whole text, or, if it does not begin with '[' and end with '.', a part of it.
  std::string text;
};

void check_error(const Case& test, const std::string& text) {
  CAPTURE(test.what, text);
  CHECK(in_house_form(text));
  if (test.text.starts_with('[') && test.text.ends_with('.'))
    CHECK(text == test.text);
  else
    CHECK_THAT(text, ContainsSubstring(test.text));
}

FitOptions quiet(FitOptions options = {}) {
  options.verbose = 0;
  return options;
}

const std::vector<Case> data_cases{
    {"another number of features", [](Sequential& m) { m.fit(waves({8, 2}), y, quiet()); },
     "[Dense \"first\"] expected input of shape [batch, .., 3], received [8, 2]. The layer was built for 3 inputs; "
     "build a new layer or check the data."},
    {"no features", [](Sequential& m) { m.fit(waves({8}), y, quiet()); }, "expected input of shape"},
    {"y longer than x", [](Sequential& m) { m.fit(x, waves({9, 1}), quiet()); }, "x sizes: 8; y sizes: 9"},
    {"y shorter than x", [](Sequential& m) { m.evaluate(x, y.rows(0, 3), {.verbose = 0}); }, "x sizes: 8; y sizes: 3"},
    {"too few sample weights", [](Sequential& m) { m.fit(x, y, waves({5}), quiet()); }, "sample_weight sizes: 5"},
    {"sample weights of another shape", [](Sequential& m) { m.fit(x, y, waves({8, 2}), quiet()); },
     "sample_weight of shape [8, 2] for losses of shape [8]"},
    {"y of another width", [](Sequential& m) { m.fit(x, waves({8, 2}), quiet()); },
     "[MeanSquaredError] y_true of shape [8, 2] and y_pred of shape [8, 1] - expected equal shapes - check the targets "
     "and the last layer's units."},
    {"no y", [](Sequential& m) { m.fit(Data(x), quiet()); }, "Target data is missing"},
    {"no samples", [](Sequential& m) { m.fit(Tensor({0, 3}), Tensor({0, 1}), quiet()); }, "is empty"},
    {"no data", [](Sequential& m) { m.predict(Tensor(), {.verbose = 0}); }, "holds no data"},
    {"two inputs", [](Sequential& m) { m.fit(Data(Batch{{x, x}, {y}, {}}), quiet()); }, "2 inputs - expected one"},
    {"a batch of another width", [](Sequential& m) { m.train_on_batch(waves({8, 4}), y); }, "received [8, 4]"},
    {"weights of other shapes", [](Sequential& m) { m.set_weights({x, y, x, y}); }, "set_weights with shape [8, 3]"},
    {"too few weights", [](Sequential& m) { m.set_weights({}); }, "set_weights of 0 tensors - expected 4"},
};

const std::vector<Case> option_cases{
    {"batch_size 0", [](Sequential& m) { m.fit(x, y, quiet({.batch_size = 0})); }, "batch_size"},
    {"batch_size -1", [](Sequential& m) { m.predict(x, {.batch_size = -1, .verbose = 0}); }, "batch_size"},
    {"epochs -1", [](Sequential& m) { m.fit(x, y, quiet({.epochs = -1})); }, "epochs = -1"},
    {"initial_epoch -1", [](Sequential& m) { m.fit(x, y, quiet({.initial_epoch = -1})); }, "initial_epoch = -1"},
    {"steps_per_epoch 0", [](Sequential& m) { m.fit(x, y, quiet({.steps_per_epoch = 0})); }, "steps"},
    {"steps -1", [](Sequential& m) { m.evaluate(x, y, {.verbose = 0, .steps = -1}); }, "steps"},
    {"steps -1 with a dataset",
     [](Sequential& m) {
       m.evaluate(Dataset::from_tensor_slices({{x}, {y}, {}}).batch(2), {.verbose = 0, .steps = -1});
     },
     "steps = -1"},
    {"validation_split 1.5", [](Sequential& m) { m.fit(x, y, quiet({.validation_split = 1.5})); },
     "[fit] validation_split 1.5 - expected a number between 0 and 1 - pass the fraction of samples for validation."},
    {"validation_split -0.1", [](Sequential& m) { m.fit(x, y, quiet({.validation_split = -0.1})); }, "between 0 and 1"},
    {"validation_split nan", [](Sequential& m) { m.fit(x, y, quiet({.validation_split = nan})); }, "between 0 and 1"},
    {"validation_split of too little",
     [](Sequential& m) { m.fit(x.rows(0, 1), y.rows(0, 1), quiet({.validation_split = 0.5})); },
     "Training data contains 1 samples, which is not sufficient to split it"},
    {"validation_batch_size 0",
     [](Sequential& m) { m.fit(x, y, quiet({.validation_data = Data(x, y), .validation_batch_size = 0})); },
     "batch_size"},
    {"validation data of another width", [](Sequential& m) { m.fit(x, y, quiet({.validation_data = Data(y, y)})); },
     "received [8, 1]"},
    {"validation_freq 0", [](Sequential& m) { m.fit(x, y, quiet({.validation_freq = 0})); },
     "Expected `validation_freq` to be a list or int of 1 or more"},
    {"shuffle \"samples\"", [](Sequential& m) { m.fit(x, y, quiet({.shuffle = "samples"})); },
     "[fit] shuffle = \"samples\" - expected true, false or \"batch\" - choose one."},
    {"verbose 7", [](Sequential& m) { m.fit(x, y, {.verbose = 7}); }, "verbose"},
    {"an empty callback", [](Sequential& m) { m.fit(x, y, quiet({.callbacks = {nullptr}})); }, "an empty callback"},
    {"jit_compile \"always\"", [](Sequential& m) { m.compile({.loss = "mse", .jit_compile = "always"}); },
     "[compile] jit_compile = \"always\" - expected true, false or \"auto\" - choose one."},
    {"steps_per_execution 0", [](Sequential& m) { m.compile({.loss = "mse", .steps_per_execution = 0}); },
     "[compile] steps_per_execution = 0 - expected 1 or more - choose a positive number."},
    {"a learning rate that is no number", [](Sequential& m) { m.optimizer().set_learning_rate(nan); },
     "[SGD] learning_rate = nan - expected a finite float32 of 0 or more - set the learning rate."},
    {"batch_size with a generator",
     [](Sequential& m) { m.fit(Data(batches_of(x, y, 4, 2)), quiet({.batch_size = 4})); },
     "[Data] batch_size = 4 with a generator - The `batch_size` argument must not be specified for data that comes in "
     "batches - omit it."},
    {"validation_split with a generator",
     [](Sequential& m) { m.fit(Data(batches_of(x, y, 4, 2)), quiet({.validation_split = 0.5})); },
     "`validation_split` is only supported for arrays"},
};

const std::vector<Case> name_cases{
    {"loss", [](Sequential& m) { m.compile({.loss = "msee"}); },
     "[loss] \"msee\" - expected one of: mean_squared_error, mse, mean_absolute_error, mae, "
     "mean_absolute_percentage_error, mape, mean_squared_logarithmic_error, msle, huber, huber_loss, log_cosh, "
     "cosine_similarity, hinge, squared_hinge, categorical_hinge, kl_divergence, kullback_leibler_divergence, kld, "
     "poisson, binary_crossentropy, bce, categorical_crossentropy, sparse_categorical_crossentropy, "
     "binary_focal_crossentropy, categorical_focal_crossentropy, categorical_generalized_cross_entropy, dice, "
     "tversky, circle, ctc - choose one of them, or pass an object."},
    {"optimizer", [](Sequential& m) { m.compile({.optimizer = "adamm", .loss = "mse"}); },
     "[optimizer] \"adamm\" - expected one of: sgd, rmsprop, adam, adamw, adamax, nadam, adagrad, adadelta, "
     "adafactor, ftrl, lion, lamb, muon, schedule_free_adamw - choose one of them, or pass an object."},
    {"metric", [](Sequential& m) { m.compile({.loss = "mse", .metrics = {"accurate"}}); },
     "[metric] \"accurate\" - expected one of: accuracy, acc, binary_accuracy,"},
    {"weighted metric", [](Sequential& m) { m.compile({.loss = "mse", .weighted_metrics = {""}}); }, "[metric] \"\""},
    {"activation", [](Sequential&) { layers::dense({.units = 1, .activation = "rellu"}); },
     "\"rellu\" - expected one of: linear, relu,"},
    {"initializer",
     [](Sequential&) {
       Sequential({layers::dense({.units = 1, .kernel_initializer = "glorot"})}).predict(x, {.verbose = 0});
     },
     "\"glorot\" - expected one of: zeros, ones,"},
    {"reduction", [](Sequential&) { losses::mean_squared_error({.reduction = "avg"}); },
     "\"avg\" - expected one of: sum_over_batch_size, sum,"},
    {"dtype", [](Sequential&) { layers::dense({.units = 1, .dtype = "float8"}); }, "float8"},
    {"a dtype that does not train", [](Sequential&) { layers::dense({.units = 1, .name = "d", .dtype = "int32"}); },
     "[Dense \"d\"] dtype \"int32\" - expected \"float32\", \"float64\", \"mixed_float16\" or \"mixed_bfloat16\" - "
     "choose one."},
    {"data_format", [](Sequential&) { layers::flatten({.data_format = "channels", .name = "f"}); },
     "[Flatten \"f\"] data_format = \"channels\" - expected \"channels_last\" or \"channels_first\" - choose one."},
};

const std::vector<Case> number_cases{
    {"units 0", [](Sequential&) { layers::dense({.name = "d"}); },
     "[Dense \"d\"] units = 0 - expected a positive number - set units."},
    {"units -3", [](Sequential&) { layers::dense({.units = -3}); }, "units = -3"},
    {"rate 1.5", [](Sequential&) { layers::dropout({.rate = 1.5, .name = "d"}); },
     "[Dropout \"d\"] rate = 1.5 - expected a number from 0 to 1 - set the rate."},
    {"rate nan", [](Sequential&) { layers::dropout(nan); }, "rate = nan"},
    {"learning_rate nan", [](Sequential&) { optimizers::sgd({.learning_rate = nan}); }, "learning_rate = nan"},
    {"learning_rate inf", [](Sequential&) { optimizers::adam({.learning_rate = infinity}); }, "learning_rate = inf"},
    {"learning_rate 1e300", [](Sequential&) { optimizers::adam({.learning_rate = 1e300}); },
     "learning_rate = 1e+300 - expected a finite float32"},
    {"learning_rate -1", [](Sequential&) { optimizers::rmsprop({.learning_rate = -1}); },
     "[rmsprop] learning_rate = -1 - expected a finite float32 of 0 or more - set the learning rate."},
    {"momentum nan", [](Sequential&) { optimizers::sgd({.momentum = nan}); }, "momentum = nan"},
    {"momentum 2", [](Sequential&) { optimizers::rmsprop({.momentum = 2}); }, "momentum = 2"},
    {"rho nan", [](Sequential&) { optimizers::rmsprop({.rho = nan}); }, "rho = nan"},
    {"epsilon nan", [](Sequential&) { optimizers::rmsprop({.epsilon = nan}); }, "epsilon = nan"},
    {"beta_1 nan", [](Sequential&) { optimizers::adam({.beta_1 = nan}); },
     "[adam] beta_1 = nan - expected a number from 0 to 1 - set beta_1."},
    {"beta_2 -1", [](Sequential&) { optimizers::adam({.beta_2 = -1}); }, "beta_2 = -1"},
    {"epsilon -1", [](Sequential&) { optimizers::adam({.epsilon = -1}); }, "epsilon = -1"},
    {"label_smoothing nan", [](Sequential&) { losses::binary_crossentropy({.label_smoothing = nan}); },
     "[binary_crossentropy] label_smoothing = nan - expected a number from 0 to 1 - set label_smoothing."},
    {"label_smoothing 2", [](Sequential&) { losses::categorical_crossentropy({.label_smoothing = 2}); },
     "label_smoothing = 2"},
    {"threshold 1", [](Sequential&) { metrics::binary_accuracy({.threshold = 1}); },
     "[binary_accuracy] threshold = 1 - expected a number between 0 and 1 - set threshold."},
};

/// A built and compiled model; its first layer is named "first".
void prepare(Sequential& model) {
  model.add(layers::dense({.units = 4, .activation = "tanh", .name = "first"}));
  model.add(layers::dense({.units = 1}));
  model.compile(mse());
  model.build({-1, 3});
}

void check_all(const std::vector<Case>& cases) {
  Sequential model;
  prepare(model);
  for (const Case& test : cases) {
    const auto before = weights_of(model);
    const std::int64_t steps = model.optimizer().iterations();
    check_error(test, error_of([&] { test.action(model); }));
    CAPTURE(test.what);
    // verbose and validation are checked late; the steps before have been trained.
    if (model.optimizer().iterations() == steps) CHECK(weights_of(model) == before);
    model.fit(x, y, quiet());
    CHECK(model.optimizer().name() == "SGD");
  }
}

}  // namespace

TEST_CASE("an axis that a shape does not have is an error", "[bad_input]") {
  const Shape scalar, matrix{2, 3};
  CHECK(matrix[-2] == 2);
  CHECK_THROWS_WITH(matrix[2], ContainsSubstring("axis 2 of the shape [2, 3]"));
  CHECK_THROWS_WITH(scalar[-1], ContainsSubstring("axis -1 of the shape []"));
  CHECK_THROWS_WITH(matrix[-3], ContainsSubstring("axis -3 of the shape [2, 3]"));
  CHECK_THROWS_WITH((*layers::additive_attention())({Tensor(Shape{}), Tensor(Shape{})}),
                    ContainsSubstring("a query of shape []"));
}

TEST_CASE("bad input: data that does not fit the model", "[bad_input]") { check_all(data_cases); }
TEST_CASE("bad input: options out of range", "[bad_input]") { check_all(option_cases); }
TEST_CASE("bad input: unknown names list the known ones", "[bad_input]") { check_all(name_cases); }
TEST_CASE("bad input: numbers that layers, optimizers and losses cannot use", "[bad_input]") {
  check_all(number_cases);
}

TEST_CASE("bad input: training before compile is an error that names compile", "[bad_input]") {
  Sequential model(two_dense());
  CHECK(error_of([&] { model.fit(x, y, quiet()); }) ==
        "[fit] the model is not compiled - You must compile your model before training/testing - call "
        "model.compile({.loss = …}).");
  for (const std::function<void()>& action : std::vector<std::function<void()>>{
           [&] { model.evaluate(x, y); }, [&] { model.train_on_batch(x, y); }, [&] { model.test_on_batch(x, y); },
           [&] { static_cast<void>(model.optimizer()); }}) {
    const std::string text = error_of(action);
    CHECK(in_house_form(text));
    CHECK_THAT(text, ContainsSubstring("compile("));
  }
  CHECK(model.predict(x, {.verbose = 0}).shape() == Shape{8, 1});
  model.compile(mse());
  model.fit(x, y, quiet());
}

TEST_CASE("bad input: compiled without a loss, a model predicts but does not train", "[bad_input]") {
  Sequential model(two_dense());
  model.compile({});
  const std::string text = error_of([&] { model.fit(x, y, quiet()); });
  CHECK(in_house_form(text));
  CHECK_THAT(text, ContainsSubstring("No loss to compute"));
  model.predict(x, {.verbose = 0});
}

TEST_CASE("bad input: a loop within a step is an error, and the next one runs", "[bad_input]") {
  struct Nested : Sequential {
    bool nests = true;
    Nested() : Sequential(two_dense()) {}
    StepLogs train_step(const StepData& data) override {
      if (nests) fit(x, y, quiet());
      return Sequential::train_step(data);
    }
  } model;
  model.compile(mse());
  const std::string text = error_of([&] { model.fit(x, y, quiet()); });
  CHECK(text ==
        "[fit] Detected a call to `Model.fit` inside a step - expected a call outside of steps - a step processes one "
        "batch; call the loop outside the model.");
  model.nests = false;
  model.fit(x, y, quiet());
}

TEST_CASE("bad input: a model without trainable weights is an error", "[bad_input]") {
  Sequential frozen({layers::dense({.units = 1, .trainable = false})});
  frozen.compile(mse());
  const std::string text = error_of([&] { frozen.fit(x, y, quiet()); });
  CHECK(in_house_form(text));
  CHECK_THAT(text, ContainsSubstring("No gradients provided for any variable"));
  frozen.evaluate(x, y, {.verbose = 0});
}

TEST_CASE("bad input: fit rethrows a generator's exception, and the model trains on", "[bad_input]") {
  Sequential model(two_dense());
  model.compile(mse());
  const int good = GENERATE(0, 1, 3);
  const Generator breaks = [given = 0, good]() mutable -> std::optional<Batch> {
    if (given++ == good) throw std::out_of_range("the disk is gone");
    return Batch{{x}, {y}, {}};
  };
  CHECK_THROWS_AS(model.fit(Data(breaks), quiet({.epochs = 2, .steps_per_epoch = 5})), std::out_of_range);
  CHECK(model.optimizer().iterations() == good);
  model.fit(x, y, quiet());
}

TEST_CASE("bad input: an exhausted generator is an error, not an empty epoch", "[bad_input]") {
  struct Once : BatchSource {
    int left = 2;
    std::optional<Batch> consume() override { return left-- ? std::optional(Batch{{x}, {y}, {}}) : std::nullopt; }
  };
  Sequential model(two_dense());
  model.compile(mse());
  const Data once(std::make_unique<Once>());
  model.fit(once, quiet());
  CHECK(error_of([&] { model.fit(once, quiet()); }) ==
        "[Data] an exhausted generator - expected a new one for each fit, evaluate or predict - create a new "
        "generator.");
  const std::string text = error_of([&] { model.fit(Data([] { return std::optional<Batch>(); }), quiet()); });
  CHECK(in_house_form(text));
  CHECK_THAT(text, ContainsSubstring("no batch at all"));
  CHECK(model.optimizer().iterations() == 2);
}

TEST_CASE(
    "bad input: class ids outside the classes that a step computes give NaN, and nothing is read beyond them (R-10)",
    "[bad_input]") {
  const float label = GENERATE(3.F, -1.F, 1e9F, -1e9F);
  Sequential model({layers::dense({.units = 3, .activation = "softmax"})});
  const auto loss = [](Value y_true, Value y_pred) {
    return losses::sparse_categorical_crossentropy()->call(ops::square(ops::sign(y_true)) * y_true, y_pred);
  };
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = losses::from_function(loss, "computed")});
  Tensor labels({8});
  labels.data<float>()[5] = label;
  CHECK(std::isnan(model.train_on_batch(x, labels)["loss"]));
}

}  // namespace etude
