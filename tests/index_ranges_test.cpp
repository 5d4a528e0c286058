#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "support.hpp"
#include "training_samples.hpp"

// Labels and indices from the host are checked before a step runs.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::error_of;
using testing::kind_of;
using testing::tensor_of;

const Tensor x = waves({8, 3});

/// 8 labels of 3 classes; label 5 is `label`.
Tensor labels_with(double label, DType dtype = DType::int32) {
  return tensor_of({8}, dtype, {0, 1, 2, 0, 1, label, 0, 1});
}

std::unique_ptr<Sequential> classifier(CompileOptions options = {}, LossPtr loss = nullptr) {
  auto model =
      std::make_unique<Sequential>(std::vector<LayerPtr>{layers::dense({.units = 3, .activation = "softmax"})});
  model->build({-1, 3});
  options.optimizer = optimizers::sgd({.learning_rate = 0.1});
  if (loss)
    options.loss = loss;
  else
    options.loss = "sparse_categorical_crossentropy";
  model->compile(std::move(options));
  return model;
}

FitOptions in_order(std::int64_t batch_size) { return {.batch_size = batch_size, .verbose = 0, .shuffle = false}; }

/// Ids [batch, 2] of a table of 4 rows.
std::unique_ptr<Sequential> embedder() {
  auto model = std::make_unique<Sequential>(
      std::vector<LayerPtr>{layers::embedding({.input_dim = 4, .output_dim = 2, .name = "words"}), layers::flatten(),
                            layers::dense({.units = 1})});
  model->build({-1, 2});
  model->compile(mse());
  return model;
}

const Tensor ids = Tensor::from<std::int32_t>({3, 2}, {0, 1, 2, 3, 4, 1}), targets({3, 1});

/// Batches one after another, once.
Data batches(std::vector<Batch> all) {
  return Data([all = std::move(all), next = std::size_t{0}]() mutable {
    return next < all.size() ? std::optional(all[next++]) : std::nullopt;
  });
}

/// The result of `call` for a model's inputs.
class Calling : public Model {
 public:
  explicit Calling(std::function<Value(Value)> function) : function_(std::move(function)) {}
  Value call(Value given, bool) override { return function_(given); }

 private:
  std::function<Value(Value)> function_;
};

}  // namespace

TEST_CASE("a label out of range is an error that names value, row and range, and nothing is trained",
          "[index_ranges]") {
  const auto model = classifier();
  const std::vector<double> before = weights_of(*model);
  const std::string text =
      "[SparseCategoricalCrossentropy] label 7 in row 5 of y - expected 0 to 2, because there are 3 classes - check "
      "the "
      "labels, or increase the last layer's units.";
  const Tensor y = labels_with(7);
  CHECK(error_of([&] { model->fit(x, y, in_order(8)); }) == text);
  CHECK(error_of([&] { model->evaluate(x, y, {.batch_size = 3, .verbose = 0}); }) == text);
  CHECK(kind_of([&] { model->fit(x, y, in_order(8)); }) == ErrorKind::data);
  // A single batch has no other rows.
  CHECK_THAT(error_of([&] { model->train_on_batch(x, y); }), ContainsSubstring("in row 5 of y of this batch"));
  CHECK_THAT(error_of([&] { model->test_on_batch(x, y); }), ContainsSubstring("in row 5 of y of this batch"));
  CHECK(weights_of(*model) == before);
  CHECK(model->optimizer().iterations() == 0);
  model->fit(x, labels_with(2), in_order(8));
  CHECK(weights_of(*model) != before);
}

TEST_CASE("an error names the row in the data, for any shuffle", "[index_ranges]") {
  const bool by_batch = GENERATE(false, true);
  const auto model = classifier();
  FitOptions options = in_order(2);
  options.shuffle = by_batch ? ShuffleChoice("batch") : ShuffleChoice(true);
  for (int i = 0; i < 5; ++i)
    CHECK_THAT(error_of([&] { model->fit(x, labels_with(7), options); }), ContainsSubstring("label 7 in row 5 of y -"));
}

TEST_CASE("batches before a wrong label were trained", "[index_ranges]") {
  const std::int64_t steps_per_execution = GENERATE(1, 3);
  const auto model = classifier({.steps_per_execution = steps_per_execution});
  CHECK_THAT(error_of([&] { model->fit(x, labels_with(-1), in_order(2)); }), ContainsSubstring("label -1 in row 5"));
  CHECK(model->optimizer().iterations() == 2);
}

TEST_CASE("labels of any dtype and from any data are checked", "[index_ranges]") {
  const auto model = classifier();
  const auto fails = [&](const Tensor& y, const char* words) {
    CHECK_THAT(error_of([&] { model->fit(x, y, in_order(8)); }), ContainsSubstring(words));
  };
  fails(labels_with(3, DType::uint8), "label 3 in row 5");
  fails(labels_with(255, DType::uint8), "label 255 in row 5");
  fails(labels_with(3, DType::float32), "label 3 in row 5");
  fails(labels_with(-1e9, DType::float32), "label -1000000000 in row 5");
  fails(labels_with(std::numeric_limits<double>::quiet_NaN(), DType::float32), "label nan in row 5");
  fails(labels_with(7).reshape({8, 1}), "label 7 in row 5");
  for (const DType dtype : {DType::int32, DType::uint8, DType::float32, DType::float64})
    CHECK(std::isfinite(model->fit(x, labels_with(2, dtype), in_order(8))->history().front().second.front()));

  const Data dataset(Dataset::from_tensor_slices(Batch{{x}, {labels_with(7)}, {}}).batch(4));
  CHECK_THAT(error_of([&] { model->fit(dataset, {.verbose = 0}); }),
             ContainsSubstring("label 7 in row 1 of y of this"));
  const Data generator = batches({{{x}, {labels_with(1)}, {}}, {{x}, {labels_with(7)}, {}}});
  CHECK_THAT(error_of([&] { model->fit(generator, {.verbose = 0}); }), ContainsSubstring("label 7 in row 5 of y of"));
  FitOptions validated = in_order(8);
  validated.validation_data = Data(x, labels_with(7));
  CHECK_THAT(error_of([&] { model->fit(x, labels_with(1), validated); }),
             ContainsSubstring("label 7 in row 5 of y of the validation data -"));
}

TEST_CASE("an error in validation data names the row of the data before the split", "[index_ranges]") {
  const bool eagerly = GENERATE(false, true);
  const auto model = classifier({.run_eagerly = eagerly});
  FitOptions options = in_order(2);
  options.validation_split = 0.5;
  CHECK_THAT(error_of([&] { model->fit(x, labels_with(7), options); }),
             ContainsSubstring("label 7 in row 5 of y of the validation data -"));
  // Row numbers of the training part are unchanged, and evaluate() does not mention validation.
  options.validation_split = 0.25;
  for (const char* text : {"label 7 in row 5 of y -", "label -1 in row 5 of y -"}) {
    const Tensor y = labels_with(text[6] == '7' ? 7 : -1);
    CHECK_THAT(error_of([&] { model->fit(x, y, options); }), ContainsSubstring(text));
    CHECK_THAT(error_of([&] { model->evaluate(x, y, {.verbose = 0}); }), ContainsSubstring(text));
  }
  // Data in batches has no global row numbers.
  options = in_order(8);
  options.validation_data = Data(Dataset::from_tensor_slices(Batch{{x}, {labels_with(7)}, {}}).batch(4));
  CHECK_THAT(error_of([&] { model->fit(x, labels_with(1), options); }),
             ContainsSubstring("label 7 in row 1 of y of this batch of the validation data -"));
}

TEST_CASE("a loss that ignores a label does not hide the check of a metric that does not", "[index_ranges]") {
  const LossPtr ignoring = losses::sparse_categorical_crossentropy({.ignore_class = -1});
  const auto metric = [](std::optional<std::int64_t> ignored) {
    return CompileOptions{.metrics = {metrics::sparse_categorical_crossentropy({.ignore_class = ignored})}};
  };
  const auto error = [&](CompileOptions options, double label) {
    return error_of([&] { classifier(std::move(options), ignoring)->evaluate(x, labels_with(label), {.verbose = 0}); });
  };
  CHECK(error({}, -1) == "");
  CHECK(error(metric(-1), -1) == "");
  CHECK_THAT(error(metric({}), -1), ContainsSubstring("label -1 in row 5 of y -"));
  CHECK_THAT(error(metric(-1), -2), ContainsSubstring("label -2 in row 5 of y -"));
}

TEST_CASE("a loss under a mask does not hide the check of a metric without one", "[index_ranges]") {
  const Tensor steps = filled({2, 3, 3}, 0.5), counts = tensor_of({2, 3}, DType::boolean, {1, 1, 0, 1, 0, 0});
  const auto unmasked = metrics::from_function(
      [](Value y_true, Value y_pred) { return ops::sparse_softmax_crossentropy(ops::log(y_pred), y_true); },
      "unmasked");
  const bool own = GENERATE(false, true);  // whether the step computes the mask, or the batch has it
  Calling model([=](Value given) {
    const Value y_pred = ops::softmax(given);
    return own ? y_pred.with_mask(ops::greater(ops::sum(given, {-1}), ops::scalar(9, given))) : y_pred;
  });
  model.set_supports_masking(true);
  const auto error = [&](const MetricChoices& chosen, double label) {
    model.compile({.loss = "sparse_categorical_crossentropy", .metrics = chosen});
    Batch batch{{steps}, {tensor_of({2, 3}, DType::int32, {0, 1, label, 2, 1, 0})}, {}};
    if (!own) batch.mask = {counts};
    return error_of([&] { model.evaluate(batches({batch}), {.verbose = 0}); });
  };
  CHECK(error({}, 7) == "");
  CHECK_THAT(error({unmasked}, 7), ContainsSubstring("label 7 in row 0 of y"));
  CHECK(error({unmasked}, 2) == "");
}

TEST_CASE("an ignored label may be any number", "[index_ranges]") {
  const double ignored = GENERATE(-1.0, 255.0);
  const auto model =
      classifier({}, losses::sparse_categorical_crossentropy({.ignore_class = static_cast<std::int64_t>(ignored)}));
  for (const DType dtype : {DType::int32, DType::float32})
    CHECK(std::isfinite(model->train_on_batch(x, labels_with(ignored, dtype))["loss"]));
  CHECK_THAT(error_of([&] { model->train_on_batch(x, labels_with(ignored - 1)); }), ContainsSubstring("[Sparse"));
}

TEST_CASE("a label under a mask may be any number", "[index_ranges]") {
  Sequential model({layers::embedding({.input_dim = 4, .output_dim = 2, .mask_zero = true}),
                    layers::dense({.units = 3, .activation = "softmax"})});
  model.compile({.loss = "sparse_categorical_crossentropy"});
  const Tensor steps = Tensor::from<std::int32_t>({2, 3}, {1, 2, 0, 3, 0, 0});
  const auto loss = [&](std::vector<double> labels) {
    return model.train_on_batch(steps, tensor_of({2, 3}, DType::int32, labels))["loss"];
  };
  CHECK(std::isfinite(loss({0, 1, -1, 2, 9, -1})));
  CHECK_THAT(error_of([&] { loss({0, -1, -1, 2, 9, -1}); }), ContainsSubstring("label -1 in row 0 of y"));

  // The batch's own mask.
  Sequential plain({layers::dense({.units = 3, .activation = "softmax"})});
  plain.compile({.loss = "sparse_categorical_crossentropy"});
  const Tensor mask = tensor_of({2, 3}, DType::boolean, {1, 1, 0, 1, 0, 0});
  const auto fit = [&](std::vector<double> labels) {
    const Tensor y = tensor_of({2, 3}, DType::int32, labels);
    return plain.fit(batches({{{waves({2, 3, 4})}, {y}, {}, {mask}}}), {.verbose = 0});
  };
  CHECK(std::isfinite(fit({0, 1, -1, 2, 9, -1})->history().front().second.front()));
  CHECK_THAT(error_of([&] { fit({0, 1, -1, 5, 9, -1}); }), ContainsSubstring("label 5 in row 1 of y"));
}

TEST_CASE("an index out of a table's range is an error that names the layer", "[index_ranges]") {
  const auto model = embedder();
  const std::vector<double> before = weights_of(*model);
  const std::string text =
      "[Embedding \"words\"] index 4 in row 2 of x - expected 0 to 3, because there are 4 rows in its table - check "
      "the "
      "data, or set a larger input_dim.";
  CHECK(error_of([&] { model->fit(ids, targets, in_order(3)); }) == text);
  CHECK(error_of([&] { model->predict(ids, {.batch_size = 1, .verbose = 0}); }) == text);
  CHECK(error_of([&] { model->evaluate(ids.astype(DType::float32), targets, {.verbose = 0}); }) == text);
  CHECK_THAT(error_of([&] { model->predict_on_batch(ids); }), ContainsSubstring("index 4 in row 2 of x of this batch"));
  CHECK_THAT(error_of([&] { (*model)(ids); }), ContainsSubstring("index 4 in row 2 of x"));
  CHECK(weights_of(*model) == before);
  CHECK(model->predict(ids.rows(0, 2), {.verbose = 0}).shape() == Shape{2, 1});
}

TEST_CASE("indices are checked through ops that only move them", "[index_ranges]") {
  const Tensor table = waves({4, 2});
  const auto rows = [&](const std::function<Value(Value)>& indices) {
    auto model = std::make_unique<Calling>(
        [=](Value given) { return ops::take(Graph::current().read(Variable("table", table, false)), indices(given)); });
    return error_of([&] { model->predict(ids, {.verbose = 0}); });
  };
  const char* text = "[take] index 4 in row 2 of x -";
  CHECK_THAT(rows([](Value i) { return i; }), ContainsSubstring(text));
  CHECK_THAT(rows([](Value i) { return ops::reshape(ops::cast(i, DType::float32), {-1}); }), ContainsSubstring(text));
  CHECK_THAT(rows([](Value i) { return ops::slice(i, -1, 0, 1); }), ContainsSubstring(text));
  CHECK_THAT(rows([](Value i) { return ops::transpose(i); }), ContainsSubstring(text));
  // Not indices of the table, or computed by the step.
  CHECK(rows([](Value i) { return ops::slice(i, -1, 1, 1); }) == "");
  CHECK(rows([](Value i) { return ops::minimum(i, ops::scalar(3, i)); }) == "");
  CHECK(rows([](Value i) { return i + 7; }) == "");
}

TEST_CASE("computed indices out of range give NaN", "[index_ranges]") {
  const auto model =
      classifier({}, losses::from_function(
                         [](Value y_true, Value y_pred) {
                           return ops::sparse_softmax_crossentropy(y_pred, ops::cast(y_true, DType::int32) + 2);
                         },
                         "shifted"));
  CHECK(std::isnan(model->train_on_batch(x, labels_with(1))["loss"]));
}

TEST_CASE("labels are checked with replicas and in eager steps", "[index_ranges]") {
  SECTION("replicas") {
    const auto strategy = std::make_shared<MirroredStrategy>(MirroredOptions{.replicas = 2});
    const auto scope = strategy->scope();
    const auto model = classifier();
    const std::vector<double> before = weights_of(*model);
    CHECK_THAT(error_of([&] { model->fit(x, labels_with(7), in_order(8)); }), ContainsSubstring("label 7 in row 5"));
    CHECK(weights_of(*model) == before);
  }
  SECTION("eagerly") {
    const auto model = classifier({.run_eagerly = true});
    const std::vector<double> before = weights_of(*model);
    CHECK_THAT(error_of([&] { model->fit(x, labels_with(7), in_order(8)); }), ContainsSubstring("label 7 in row 5"));
    CHECK(weights_of(*model) == before);
  }
}

TEST_CASE("with several targets an error names the wrong one", "[index_ranges]") {
  const SymbolicTensor in = layers::input({.shape = {3}});
  const auto head = [&](std::int64_t classes) {
    return layers::dense({.units = classes, .activation = "softmax"})->apply(in);
  };
  Functional model({in}, {head(3), head(8)});
  model.compile({.loss = "sparse_categorical_crossentropy"});
  const auto fit = [&](double first, double second) {
    return error_of([&] { model.fit(Data(Batch{{x}, {labels_with(first), labels_with(second)}, {}}), in_order(8)); });
  };
  CHECK(fit(2, 7) == "");
  CHECK_THAT(fit(2, 8), ContainsSubstring("label 8 in row 5 of y[1] - expected 0 to 7"));
  CHECK_THAT(fit(3, 7), ContainsSubstring("label 3 in row 5 of y[0] - expected 0 to 2"));
}

}  // namespace etude
