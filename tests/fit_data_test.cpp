#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "training_samples.hpp"

// fit, evaluate and predict with each kind of data.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

const Tensor x = waves({12, 3}), y = signs_of(x);

struct Slices : Sequence {
  std::int64_t size() const override { return 3; }
  Batch batch(std::int64_t index) override {
    return {{x.rows(4 * index, 4 * index + 4)}, {y.rows(4 * index, 4 * index + 4)}, {}};
  }
};

Dataset dataset() { return Dataset::from_tensor_slices({{x}, {y}, {}}).batch(4); }

List list_of(const Tensor& tensor) {
  const std::int64_t columns = tensor.size() / tensor.shape()[0];
  std::vector<std::vector<float>> rows;
  for (std::int64_t row = 0; row < tensor.shape()[0]; ++row) {
    rows.emplace_back();
    for (std::int64_t i = 0; i < columns; ++i) rows.back().push_back(static_cast<float>(tensor.at(row * columns + i)));
  }
  return rows;
}

CsrMatrix sparse_of(const Tensor& tensor) {
  const std::int64_t rows = tensor.shape()[0], columns = tensor.shape()[1];
  std::vector<std::int64_t> column_of, splits{0};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) column_of.push_back(column);
    splits.push_back((row + 1) * columns);
  }
  return CsrMatrix(columns, tensor.reshape({tensor.size()}), column_of, splits);
}

/// Every kind, with the same rows in batches of four.
std::vector<Data> all_kinds() {
  return {Data(x, y),
          Data(list_of(x), list_of(y)),
          Data(Column(x).rows(), Column(y).rows()),
          Data(Column(x).rows(), y),
          Data(sparse_of(x), y),
          Data(dataset()),
          Data(dataset().prefetch(2)),
          Data([at = 0]() mutable -> std::optional<Batch> {
            if (at == 12) return {};
            at += 4;
            return Batch{{x.rows(at - 4, at)}, {y.rows(at - 4, at)}, {}};
          }),
          Data(std::make_shared<Slices>()),
          Data(DatasetCreator{[](const InputContext&) { return dataset().repeat(); }})};
}

FitOptions options_for(const Data& data) {
  FitOptions options{.epochs = 1, .verbose = 0, .shuffle = false};
  if (data.has_rows()) options.batch_size = 4;
  if (std::holds_alternative<DatasetCreator>(data.kind())) options.steps_per_epoch = 3;
  return options;
}

std::vector<double> trained(const Data& data, const FitOptions& options) {
  Sequential model(two_dense());
  model.compile(mse());
  model.fit(data, options);
  return weights_of(model);
}

}  // namespace

TEST_CASE("fit: every kind of data trains to the same bits as its rows in tensors", "[training]") {
  const std::vector<double> expected = trained(Data(x, y), options_for(Data(x, y)));
  for (const Data& data : all_kinds()) {
    CAPTURE(data.to_string());
    CHECK(trained(data, options_for(data)) == expected);
  }
}

TEST_CASE("evaluate, predict and validation_data: every kind of data gives the results of its rows in tensors",
          "[training]") {
  Sequential model(two_dense());
  model.compile(mse(0));
  const double loss = model.evaluate(x, y, {.batch_size = 4, .verbose = 0})["loss"];
  const std::vector<double> outputs = numbers(model.predict(x, {.verbose = 0}));
  for (std::size_t kind = 0; kind < all_kinds().size(); ++kind) {
    const auto fresh = [&] { return all_kinds()[kind]; };  // a generator can be read once
    CAPTURE(fresh().to_string());
    const FitOptions like = options_for(fresh());
    const auto steps = like.steps_per_epoch;
    CHECK(model.evaluate(fresh(), {.batch_size = like.batch_size, .verbose = 0, .steps = steps})["loss"] == loss);
    CHECK(numbers(model.predict(fresh(), {.batch_size = like.batch_size, .verbose = 0, .steps = steps})) == outputs);
    const auto history =
        model.fit(x, y, {.batch_size = 4, .verbose = 0, .validation_data = fresh(), .validation_steps = steps});
    CHECK(history->history().back() == std::pair<std::string, std::vector<double>>{"val_loss", {loss}});
  }
}

TEST_CASE("fit: a shuffled sequence trains to the same bits with any number of workers", "[training]") {
  const auto run = [](int workers) {
    return trained(Data(std::make_shared<Slices>()),
                   {.epochs = 4, .verbose = 0, .max_queue_size = 2, .workers = workers});
  };
  CHECK(run(1) == run(3));
  CHECK(run(1) != trained(Data(std::make_shared<Slices>()), {.epochs = 4, .verbose = 0, .shuffle = false}));
}

TEST_CASE("fit: with steps_per_epoch = -1 an epoch runs until a callback stops it (L-17)", "[training]") {
  std::int64_t last = 0;
  Sequential model(two_dense());
  model.compile(mse());
  model.fit(
      dataset().repeat(),
      {.verbose = 0,
       .callbacks = {callbacks::lambda(
           {.on_train_batch_end = [&](std::int64_t step, Logs&) { model.stop_training = (last = step) == 100; }})},
       .steps_per_epoch = -1});
  CHECK(last == 100);
}

TEST_CASE("fit: infinite data without steps, and a split of data in batches, are refused", "[training]") {
  const auto error_of = [](const Data& data, const FitOptions& options) {
    try {
      trained(data, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(error_of(dataset().repeat(), {.verbose = 0}), ContainsSubstring("please specify a `steps_per_epoch`"));
  for (const Data& data : {Data(dataset()), Data(std::make_shared<Slices>()), Data(Column(x).rows())})
    CHECK_THAT(error_of(data, {.verbose = 0, .validation_split = 0.5}),
               ContainsSubstring("`validation_split` is only supported for arrays"));
  CHECK_THAT(error_of(dataset(), {.batch_size = 4, .verbose = 0}), ContainsSubstring("batch_size = 4 with a Dataset"));
}

TEST_CASE("ragged rows are passed to layers with their mask: padding does not count", "[training]") {
  const std::vector<std::int64_t> splits{0, 2, 5, 6};
  const Tensor steps = waves({6, 2});
  Sequential model({layers::global_average_pooling1d({})});
  const auto ragged = std::make_shared<RaggedTensor>(steps, splits);
  const Dataset dataset = Dataset::from_array_likes({ragged});
  const Batch padded = *DatasetIterator(dataset.batch(3)).next().get();
  const Data kinds[] = {Data(*ragged), Data(padded), Data(dataset.batch(2))};
  for (const Data& data : kinds) {
    PredictOptions options{.verbose = 0};
    if (data.has_rows()) options.batch_size = 2;
    const Tensor means = model.predict(data, options);
    for (std::size_t row = 0; row < 3; ++row)
      for (std::int64_t column = 0; column < 2; ++column) {
        double sum = 0;
        for (std::int64_t i = splits[row]; i < splits[row + 1]; ++i) sum += steps.at(2 * i + column);
        const double mean = sum / static_cast<double>(splits[row + 1] - splits[row]);
        CHECK(std::abs(means.at(2 * static_cast<std::int64_t>(row) + column) - mean) < 1e-6);
      }
  }
}

}  // namespace etude
