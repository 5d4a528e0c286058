#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/etude.hpp"
#include "etude/ops/elementwise.hpp"
#include "files_in_memory.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Models within models, and long chains of layers: too deep nesting is an Error, and long chains need no deep stack.

using namespace etude;
using Catch::Matchers::ContainsSubstring;
using samples::filled;
using testing::error_of;
using testing::kind_of;

namespace {

using Models = std::vector<std::shared_ptr<Sequential>>;

const Tensor x = filled({4, 3}, 1), y = filled({4, 1}, 0);

std::shared_ptr<Sequential> holding(LayerPtr layer) {
  return std::make_shared<Sequential>(std::vector<LayerPtr>{std::move(layer)});
}

/// Checks that another model still trains afterwards.
void check_trains() {
  Sequential model(samples::two_dense());
  model.compile(samples::mse());
  model.fit(x, y, {.verbose = 0});
}

/// `count` models, each within the previous one: each is added to a model that is already contained in others.
Models from_outside_in(int count, std::shared_ptr<Sequential> first = std::make_shared<Sequential>()) {
  Models models{std::move(first)};
  while (static_cast<int>(models.size()) < count) {
    models.push_back(std::make_shared<Sequential>());
    models[models.size() - 2]->add(models.back());
  }
  models.back()->add(layers::dense({.units = 1}));
  return models;
}

}  // namespace

TEST_CASE("a model is added neither to itself nor to a model that it contains", "[nesting]") {
  const auto a = std::make_shared<Sequential>(), b = holding(a), c = holding(b);
  a->add(layers::dense({.units = 1}));
  CHECK_THAT(error_of([&] { a->add(a); }), ContainsSubstring("which is or contains this model"));
  CHECK_THAT(error_of([&] { a->add(b); }), ContainsSubstring("which is or contains this model"));
  CHECK_THAT(error_of([&] { a->add(c); }), ContainsSubstring("which is or contains this model"));
  CHECK(a->layers().size() == 1);
  c->compile(samples::mse());
  c->fit(x, y, {.verbose = 0});
}

TEST_CASE("models nested 100 deep train, and one more is an Error", "[nesting]") {
  LayerPtr layer = layers::dense({.units = 1});
  std::shared_ptr<Sequential> outer;
  for (int i = 0; i < 100; ++i) layer = outer = holding(layer);
  outer->compile(samples::mse());
  outer->fit(x, y, {.verbose = 0});
  CHECK(outer->count_params() == 4);
  CHECK_THAT(error_of([&] { holding(outer); }), ContainsSubstring("nested more than 100 deep"));
  CHECK(kind_of([&] { holding(outer); }) == ErrorKind::value);
  const SymbolicTensor in = layers::input({.shape = {3}});
  const SymbolicTensor out = outer->apply(in);
  CHECK_THAT(error_of([&] { Functional({in}, {out}); }), ContainsSubstring("nested more than 100 deep"));
  check_trains();
}

TEST_CASE("20,000 nested models are an Error in every use", "[nesting]") {
  const Models models = from_outside_in(20'000);
  Sequential& outer = *models.front();
  CHECK_THAT(error_of([&] { outer.compile(samples::mse()); }), ContainsSubstring("nested more than 100 deep"));
  CHECK_THAT(error_of([&] { outer.predict(x, {.verbose = 0}); }), ContainsSubstring("expected at most 100"));
  CHECK_THAT(error_of([&] { outer.set_trainable(false); }), ContainsSubstring("nested more than 100 deep"));
  CHECK_THAT(error_of([&] { to_json<Layer>(outer); }), ContainsSubstring("nested more than 100 deep"));
  CHECK_THAT(error_of([&] { outer.summary({.print_fn = [](std::string_view) {}}); }), ContainsSubstring("100 deep"));
  CHECK(models[19'950]->predict(x, {.verbose = 0}).shape() == Shape{4, 1});
  check_trains();
}

TEST_CASE("a model that was nested deeper after it was built is an Error when it is saved", "[nesting]") {
  const testing::FilesInMemory scope;
  const auto inner = std::make_shared<Sequential>(std::vector<LayerPtr>{layers::dense({.units = 1})});
  const auto outer = holding(inner);
  outer->build({-1, 3});
  CHECK_THAT(error_of([&] { inner->add(from_outside_in(20'000).front()); }), ContainsSubstring("more than 100 deep"));
  const auto last = std::make_shared<Sequential>();
  inner->add(last);
  const Models models = from_outside_in(20'000, last);
  CHECK_THAT(error_of([&] { outer->save("model"); }), ContainsSubstring("nested more than 100 deep"));
}

TEST_CASE("custom models that contain each other are an Error when they are called", "[nesting]") {
  struct Own : Model {
    std::weak_ptr<Layer> other;
    Value call(Value value, bool training) override { return (*other.lock())(value, training); }
    std::vector<LayerPtr> layers() const override { return {other.lock()}; }
  };
  const auto a = std::make_shared<Own>(), b = std::make_shared<Own>();
  a->other = b;
  b->other = a;
  CHECK_THAT(error_of([&] { a->predict(x, {.verbose = 0}); }), ContainsSubstring("expected at most 100"));
  CHECK(a->variables().empty());
  CHECK(a->layers_inside() == std::vector<LayerPtr>{b});
  check_trains();
}

TEST_CASE("a functional model of 200,000 calls is created and destroyed without a deep stack", "[nesting]") {
  SymbolicTensor end = layers::input({.shape = {3}});
  const LayerPtr layer = layers::rescaling({.scale = 1});
  for (int i = 0; i < 200'000; ++i) end = layer->apply(end);
  CHECK(calls_behind({end}).size() == 200'001);
}

TEST_CASE("a Functional model of 20,000 calls runs, is written as JSON and rebuilt", "[nesting]") {
  const SymbolicTensor in = layers::input({.shape = {3}});
  SymbolicTensor out = in;
  const LayerPtr up = layers::rescaling({.scale = 2}), down = layers::rescaling({.scale = 0.5});
  for (int i = 0; i < 10'000; ++i) out = down->apply(up->apply(out));
  Functional model({in}, {out});
  const std::string text = to_json<Layer>(model);
  const ModelPtr again = model_from_json(text);
  CHECK(to_json<Layer>(*again) == text);
  CHECK(testing::same_bits(again->predict_on_batch(x), x));
}

TEST_CASE("a Sequential model of 20,000 layers is written as JSON and rebuilt", "[nesting]") {
  std::vector<LayerPtr> layers;
  for (int i = 0; i < 20'000; ++i) layers.push_back(layers::dropout(0.5));
  Sequential model(std::move(layers));
  CHECK(model.variables().size() == 20'000);
  const std::string text = to_json<Layer>(model);
  CHECK(to_json<Layer>(*model_from_json(text)) == text);
}

TEST_CASE("datasets of 1,000 consecutive stages are iterated, and one more stage is an Error", "[nesting]") {
  using Stage = std::function<Dataset(const Dataset&)>;
  const std::vector<std::pair<const char*, Stage>> stages{
      {"map", [](const Dataset& data) { return data.map([](Batch element) { return element; }); }},
      {"filter", [](const Dataset& data) { return data.filter([](const Batch&) { return true; }); }},
      {"shuffle", [](const Dataset& data) { return data.shuffle(2); }},
      {"repeat", [](const Dataset& data) { return data.repeat(1); }},
      {"take", [](const Dataset& data) { return data.take(2); }},
      {"skip", [](const Dataset& data) { return data.skip(0); }},
      {"shard", [](const Dataset& data) { return data.shard(1, 0); }},
      {"cache", [](const Dataset& data) { return data.cache(); }},
      {"zip", [](const Dataset& data) { return Dataset::zip({data}); }},
      {"concatenate", [](const Dataset& data) { return data.concatenate(Dataset::range(0)); }},
      {"assert_cardinality", [](const Dataset& data) { return data.assert_cardinality(2); }},
      {"batch", [](const Dataset& data) { return data.batch(1).unbatch(); }}};
  for (const auto& [name, stage] : stages) {
    CAPTURE(name);
    Dataset data = Dataset::range(2), before = data;
    int count = 0;
    const std::string error = error_of([&] {
      for (; count < 2000; ++count, before = data) data = stage(data);
    });
    CHECK_THAT(error, ContainsSubstring("1001 of them in a chain - expected at most"));
    CHECK(count > 400);
    std::int64_t elements = 0;
    for ([[maybe_unused]] const Batch& element : before) ++elements;
    CHECK(elements == 2);
  }
  Dataset data = Dataset::range(1);
  CHECK_THAT(error_of([&] {
               for (int doubled = 0; doubled < 60; ++doubled) data = data.concatenate(data);
             }),
             ContainsSubstring("expected at most 100000"));
}

TEST_CASE("a dataset whose function returns the dataset itself is an Error", "[nesting]") {
  std::optional<Dataset> data;
  data = Dataset::range(3).interleave([&data](const Batch&) { return *data; }, 1);
  CHECK_THAT(error_of([&] {
               for ([[maybe_unused]] const Batch& element : *data) continue;
             }),
             ContainsSubstring("datasets within 1000 others"));
}
