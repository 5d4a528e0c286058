#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <set>

#include "mirrored_samples.hpp"
#include "support.hpp"

// Metrics of counts, of overlap, of F-scores and of variance. Numbers of Keras 3.15.1 on JAX, in float32; those of
// IoU with dtype = "float32", which does not truncate weights.
namespace etude {
namespace {

using namespace samples;
using testing::error_of;
using testing::tensor_of;

constexpr std::int64_t rows = 13, columns = 3;

/// [rows, columns], of a function of row and column.
Tensor made(int (*of)(int, int), double scale = 1) {
  Tensor tensor({rows, columns}, DType::float64);
  int at = 0;
  for (double& element : tensor.data<double>()) {
    element = of(at / int(columns), at % int(columns)) * scale;
    ++at;
  }
  return tensor.astype(DType::float32);
}

Tensor first_column(const Tensor& x) {
  std::vector<double> column;
  const std::vector<double> all = testing::numbers(x);
  for (std::size_t at = 0; at < all.size(); at += columns) column.push_back(all[at]);
  return tensor_of({rows}, DType::float32, column);
}

/// Targets, predictions and weights.
struct Samples {
  Tensor y_true, y_pred, weight;
  Samples from(std::int64_t begin, std::int64_t end) const {
    return {y_true.rows(begin, end), y_pred.rows(begin, end), weight ? weight.rows(begin, end) : weight};
  }
};

Samples several_labels() {
  return {made([](int i, int j) { return int((i * 5 + j * 3) % 7 < 3); }),
          made([](int i, int j) { return (i * 7 + j * 11) % 19; }, 1 / 18.0),
          first_column(made([](int i, int) { return 1 + i % 3; }))};
}
Samples several_numbers() {
  Samples result = several_labels();
  result.y_true = made([](int i, int j) { return (i * 5 + j * 3) % 11; }, 0.1);
  return result;
}
Samples class_numbers() {
  return {first_column(made([](int i, int) { return i * 5 % 4; })),
          first_column(made([](int i, int) { return i * i % 5 - 1; })), several_labels().weight};
}
Samples one_label() {
  const Samples all = several_labels();
  return {first_column(all.y_true), first_column(all.y_pred), all.weight};
}

void update(Metric& metric, const Samples& given) {
  std::vector<Tensor> inputs{given.y_true, given.y_pred};
  if (given.weight) inputs.push_back(given.weight);
  testing::Compiled step(inputs, [&](Graph&, std::span<const Value> x) {
    metric.update_state(x[0], x[1], x.size() > 2 ? x[2] : Value{});
    return testing::Compiled::Outcome{};
  });
  step.run(inputs);
}
std::vector<double> result_of(const Metric& metric) {
  return testing::numbers(testing::run({}, [&](auto) { return metric.result(); }));
}
std::vector<double> figures(const MetricPtr& metric, const Samples& given) {
  update(*metric, given);
  return result_of(*metric);
}

/// A metric, the data that it is for, and what Keras gives with weights.
struct Known {
  std::function<MetricPtr()> make;
  Samples (*samples)();
  std::vector<double> keras;
};

std::vector<Known> known() {
  const auto labels = several_labels;
  return {
      {[] { return metrics::precision(); }, labels, {0.45945945}},
      {[] { return metrics::precision({.top_k = 2}); }, labels, {0.46}},
      {[] { return metrics::precision({.thresholds = {0.2, 0.6}, .top_k = 1}); }, labels, {0.4, 0.4}},
      {[] { return metrics::recall({.class_id = 1}); }, labels, {0.5714286}},
      {[] { return metrics::recall({.thresholds = 0.3, .class_id = -1}); }, labels, {0.875}},
      {[] { return metrics::recall({.thresholds = {0, 0.5, 1}}); }, labels, {0.9310345, 0.5862069, 0}},
      {[] { return metrics::true_positives(); }, labels, {17}},
      {[] { return metrics::false_positives(); }, labels, {20}},
      {[] { return metrics::false_negatives(); }, labels, {12}},
      {[] { return metrics::true_negatives({.thresholds = {0.25, 0.75}}); }, labels, {15, 33}},
      {[] { return metrics::sensitivity_at_specificity({.specificity = 0.6, .num_thresholds = 20}); },
       labels,
       {0.48275861}},
      {[] { return metrics::specificity_at_sensitivity({.sensitivity = 0.6, .num_thresholds = 1}); }, labels, {0}},
      {[] { return metrics::precision_at_recall({.recall = 0.6, .class_id = 2}); }, labels, {1}},
      {[] { return metrics::recall_at_precision({.precision = 0.5}); }, labels, {0.24137931}},
      {[] { return metrics::auc(); }, labels, {0.57046473}},
      {[] { return metrics::auc({.thresholds = {0.7, 0.1, 0.4}}); }, labels, {0.56296849}},
      {[] { return metrics::auc({.curve = "PR"}); }, labels, {0.43501931}},
      {[] { return metrics::auc({.num_thresholds = 10, .curve = "PRGAIN", .summation_method = "majoring"}); },
       labels,
       {0.19935682}},
      {[] { return metrics::auc({.multi_label = true, .num_labels = 3}); }, labels, {0.58345008}},
      {[] { return metrics::auc({.curve = "PR", .multi_label = true, .label_weights = {1, 2, 5}}); },
       labels,
       {0.69216394}},
      {[] { return metrics::auc({.label_weights = {1, 2, 5}}); }, labels, {0.69264007}},
      {[] { return metrics::auc({.from_logits = true}); }, labels, {0.57046479}},
      {[] { return metrics::f_beta_score({.beta = 2}); }, labels, {0, 0.38461539, 0.59523809}},
      {[] { return metrics::f_beta_score({.average = "weighted", .beta = 0.5, .threshold = 0.4}); },
       labels,
       {0.56473219}},
      {[] { return metrics::f1_score({.average = "micro", .threshold = 0.5}); }, labels, {0.5151515}},
      {[] { return metrics::r2_score(); }, labels, {-0.42705321}},
      {[] { return metrics::r2_score(); }, several_numbers, {-0.79413533}},
      // From Keras's unadjusted R² of each output: Keras 3.15 counts 39 entries, Keras 3.16 counts 13 rows.
      {[] { return metrics::r2_score({.class_aggregation = {}, .num_regressors = 4, .name = "adjusted"}); },
       labels,
       {-2.3206564, -0.8653801, -0.2357026}},
      {[] {
         return metrics::r2_score(
             {.class_aggregation = "variance_weighted_average", .num_regressors = 12, .name = "adjusted"});
       },
       labels,
       {-0.40020326}},
      {[] { return metrics::pearson_correlation(); }, several_numbers, {0.05779156}},
      {[] { return metrics::concordance_correlation(); }, several_numbers, {0.06037918}},
      {[] { return metrics::one_hot_io_u({.num_classes = 3, .target_class_ids = {0, 2}}); }, labels, {0.13636364}},
      {[] { return metrics::one_hot_mean_io_u({.num_classes = 3, .ignore_class = 1}); }, labels, {0.125}},
      {[] { return metrics::io_u({.num_classes = 3, .target_class_ids = {0, 2}}); }, class_numbers, {0.16666667}},
      {[] { return metrics::mean_io_u({.num_classes = 4, .ignore_class = 1}); }, class_numbers, {0.14358975}},
      {[] { return metrics::mean_io_u({.num_classes = 4}); }, class_numbers, {0.09615385}},
      {[] { return metrics::binary_io_u({.target_class_ids = 1, .threshold = 0.3}); }, one_label, {0.18181817}},
      {[] { return metrics::binary_io_u(); }, one_label, {0.27777779}},
      // Of Keras 2: tf_keras 2.21.
      {[] { return metrics::mean_relative_error({.normalizer = {0.5, 0, 2}}); }, several_numbers, {0.25155553}},
      {[] { return metrics::sum_over_batch_size(); }, several_labels, {0.95868945}},
  };
}

constexpr testing::Tolerance rounding{1e-5, 1e-5};

}  // namespace

TEST_CASE("metrics with sample weights give Keras's figures", "[metrics]") {
  for (const Known& each : known()) {
    const MetricPtr metric = each.make();
    CAPTURE(metric->description().class_name(), each.keras);
    CHECK(testing::difference(figures(metric, each.samples()), each.keras, rounding) == "");
  }
}

TEST_CASE("metrics: figures of several batches are those of all rows at once", "[metrics]") {
  for (const Known& each : known()) {
    const MetricPtr metric = each.make();
    CAPTURE(metric->description().class_name(), each.keras);
    for (int again = 0; again < 2; ++again) {
      metric->reset_state();
      for (const auto& [begin, end] : {std::pair{0, 5}, std::pair{5, 12}, std::pair{12, 13}})
        update(*metric, each.samples().from(begin, end));
      CHECK(testing::difference(result_of(*metric), each.keras, rounding) == "");
    }
  }
}

TEST_CASE("metrics: a weight of 2 counts a row twice", "[metrics]") {
  for (const Known& each : known()) {
    const MetricPtr metric = each.make(), repeated = each.make();
    // These count rows, whatever they weigh.
    if (metric->name() == "adjusted" || metric->name() == "sum_over_batch_size") continue;
    CAPTURE(metric->description().class_name(), each.keras);
    Samples given = each.samples();
    given.weight = filled({rows}, 2);
    update(*metric, given.from(0, 4));
    given.weight = filled({rows}, 1);
    update(*metric, given.from(4, rows));
    given.weight = {};
    for (const auto& [begin, end] : {std::pair{0, 13}, std::pair{0, 4}}) update(*repeated, given.from(begin, end));
    CHECK(testing::difference(result_of(*metric), result_of(*repeated), rounding) == "");
  }
}

TEST_CASE("metrics: merge_state gives the figures of the rows of all metrics", "[metrics]") {
  for (const Known& each : known()) {
    const MetricPtr first = each.make(), second = each.make(), third = each.make();
    CAPTURE(first->description().class_name(), each.keras);
    update(*first, each.samples().from(0, 5));
    update(*second, each.samples().from(5, 12));
    update(*third, each.samples().from(12, rows));
    first->merge_state({second, third});
    CHECK(testing::difference(result_of(*first), each.keras, rounding) == "");
  }
  const MetricPtr mean = metrics::mean(), more = metrics::mean();
  for (Variable variable : more->variables()) variable.fill(1);
  CHECK(
      error_of([&] { mean->merge_state({more, metrics::sum()}); }) ==
      "[mean] the state of \"sum\", which has other variables - expected a metric of the same class and options, and a "
      "batch for both - pass others to merge_state.");
  for (const Variable& variable : mean->variables()) CHECK(testing::numbers(variable.value()) == std::vector{0.0});
}

TEST_CASE("MeanTensor: the weighted mean of each element, of batches of one shape", "[metrics]") {
  const MetricPtr metric = metrics::mean_tensor(), of_given = metrics::mean_tensor({.shape = Shape{4, columns}});
  const Samples given = several_labels();
  for (const std::int64_t begin : {0, 4}) update(*metric, given.from(begin, begin + 4));
  // Of tf_keras 2.21.
  const std::vector<double> expected{0.33333334, 0.24074073, 0.5,        0.68888891, 0.66666669, 0.22222224,
                                     0.63888896, 0.45833331, 0.80555552, 0.44444445, 0.35185185, 0.61111110};
  CHECK(testing::difference(result_of(*metric), expected, rounding) == "");
  CHECK(error_of([&] { update(*metric, given.from(0, 3)); }) ==
        "[mean_tensor] values of shape [3, 3] - expected [4, 3], as in the option shape or in earlier batches - make "
        "another metric.");
  CHECK(error_of([&] { update(*of_given, given.from(0, 3)); }) != "");
}

TEST_CASE("metrics: a copy has the same options and variables of its own", "[metrics]") {
  for (const Known& each : known()) {
    const MetricPtr metric = each.make();
    CAPTURE(metric->description().class_name(), each.keras);
    update(*metric, each.samples().from(0, 3));
    CHECK(testing::difference(figures(metric->copy(), each.samples()), each.keras, rounding) == "");
  }
}

TEST_CASE("metrics on three replicas are those on one, with logs for several figures (M-8)", "[metrics][mirrored]") {
  const auto logs_on = [](int replicas) {
    set_random_seed(3);
    const auto model = within(mirrored(replicas), [] {
      auto made = std::make_unique<Sequential>(
          std::vector<LayerPtr>{layers::dense({.units = columns, .activation = "sigmoid"})});
      MetricList all;
      for (const Known& each : known())
        if (each.samples == several_labels || each.samples == several_numbers) {
          const MetricPtr metric = each.make();
          if (metric->description().class_name() != "PearsonCorrelation") all.push_back(metric);
        }
      made->compile({.optimizer = "sgd", .loss = "mse", .weighted_metrics = all});
      return made;
    });
    const Samples given = several_labels();
    const HistoryPtr history =
        model->fit(Data(given.y_pred, given.y_true, given.weight), {.batch_size = 5, .epochs = 2, .verbose = 0});
    return history->history();
  };
  const auto one = logs_on(1), three = logs_on(3);
  REQUIRE(one.size() == three.size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < one.size(); ++i) {
    CAPTURE(one[i].first);
    names.insert(one[i].first);
    CHECK(testing::difference(three[i].second, one[i].second, {1e-5, 1e-4}) == "");
  }
  for (const char* name :
       {"precision", "weighted_recall_1_0", "weighted_recall_1_2", "fbeta_score_2", "auc", "f1_score"})
    CHECK(names.contains(name));
}

TEST_CASE("metrics refuse options that Keras refuses", "[metrics]") {
  const auto refuses = [](const std::string& text, const std::function<void()>& make) {
    const std::string error = error_of(make);
    CAPTURE(error);
    CHECK(error.starts_with(text + " - expected "));
  };
  refuses("[precision] thresholds with 1.5", [] { metrics::precision({.thresholds = {0.5, 1.5}}); });
  refuses("[true_negatives] thresholds with -1", [] { metrics::true_negatives({.thresholds = -1}); });
  refuses("[recall] top_k = 0", [] { metrics::recall({.top_k = 0}); });
  refuses("[precision_at_recall] recall = 2", [] { metrics::precision_at_recall({.recall = 2}); });
  refuses("[recall_at_precision] num_thresholds = 0",
          [] { metrics::recall_at_precision({.precision = 0.5, .num_thresholds = 0}); });
  refuses("[auc] num_thresholds = 1", [] { metrics::auc({.num_thresholds = 1}); });
  refuses("[auc] curve = \"roq\"", [] { metrics::auc({.curve = "roq"}); });
  refuses("[auc] summation_method = \"sum\"", [] { metrics::auc({.summation_method = "sum"}); });
  refuses("[auc] num_labels = 3 without multi_label", [] { metrics::auc({.num_labels = 3}); });
  refuses("[io_u] target_class_ids with 3 of 3 classes",
          [] { metrics::io_u({.num_classes = 3, .target_class_ids = {0, 3}}); });
  refuses("[mean_io_u] num_classes = 0", [] { metrics::mean_io_u({.num_classes = 0}); });
  refuses("[fbeta_score] beta = 0", [] { metrics::f_beta_score({.beta = 0}); });
  refuses("[fbeta_score] average = \"mean\"", [] { metrics::f_beta_score({.average = "mean"}); });
  refuses("[f1_score] threshold = 0", [] { metrics::f1_score({.threshold = 0}); });
  refuses("[r2_score] class_aggregation = \"mean\"", [] { metrics::r2_score({.class_aggregation = "mean"}); });
  refuses("[mean_relative_error] no normalizer", [] { metrics::mean_relative_error(); });
  refuses("[mean_relative_error] a normalizer of 2 numbers for y_pred of shape [13, 3]",
          [] { update(*metrics::mean_relative_error({.normalizer = {1, 2}}), several_numbers()); });
  refuses("[r2_score] num_regressors = -1", [] { metrics::r2_score({.num_regressors = -1}); });
}

TEST_CASE("metrics refuse data of other shapes", "[metrics]") {
  const auto refuses = [](const std::string& text, const MetricPtr& metric, const Samples& given) {
    const std::string error = error_of([&] { update(*metric, given); });
    CAPTURE(error);
    CHECK(error.starts_with(text));
  };
  const Samples three = several_labels(), one = one_label();
  const Samples mixed{three.y_true, made([](int, int) { return 1; }).rows(0, 12), {}};
  refuses("[precision] y_true of shape [13, 3] and y_pred of shape [12, 3]", metrics::precision(), mixed);
  refuses("[precision] predictions of shape [13] for class_id = 0", metrics::precision({.class_id = 0}), one);
  refuses("[precision] predictions of shape [13, 3] for class_id = 3", metrics::precision({.class_id = 3}), three);
  refuses("[recall] predictions of shape [13, 3] for top_k = 4", metrics::recall({.top_k = 4}), three);
  refuses("[auc] predictions of shape [13] with multi_label", metrics::auc({.multi_label = true}), one);
  refuses("[auc] predictions of shape [13, 3] - expected 2 labels",
          metrics::auc({.multi_label = true, .num_labels = 2}), three);
  refuses("[f1_score] y_true of shape [13] and y_pred of shape [13]", metrics::f1_score(), one);
  refuses("[r2_score] y_true of shape [13] and y_pred of shape [13]", metrics::r2_score(), one);
  refuses("[mean_io_u] y_true of shape [13, 3] and y_pred of shape [12, 3]", metrics::mean_io_u({.num_classes = 2}),
          mixed);
}

TEST_CASE("metrics of classes do not count NaN and numbers out of range", "[metrics]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Samples given{
      tensor_of({4}, DType::float32, {0, nan, 1e20, 1}), tensor_of({4}, DType::float32, {0, 1, 1, -7}), {}};
  CHECK(testing::difference(figures(metrics::mean_io_u({.num_classes = 2}), given), std::vector<double>{1}, rounding) ==
        "");
  CHECK(result_of(*metrics::f1_score()) == std::vector<double>{0});
}

}  // namespace etude
