#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/etude.hpp"
#include "support.hpp"

namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;

std::shared_ptr<Functional> two_branches() {
  const SymbolicTensor x = layers::input({.shape = {3}, .name = "given"});
  const LayerPtr shared = layers::dense({.units = 4, .activation = "tanh", .name = "shared"});
  const SymbolicTensor once = shared->apply(x), twice = layers::dense({.units = 3, .name = "between"})->apply(once);
  const SymbolicTensor sum = layers::add({.name = "sum"})->apply({once, shared->apply(twice)});
  return std::make_shared<Functional>(std::vector{x}, std::vector{sum, once}, LayerOptions{.name = "branches"});
}

}  // namespace

TEST_CASE("a clone has the same config and other weights", "[clone_model]") {
  const auto functional = two_branches();
  const auto sequential = std::make_shared<Sequential>(
      std::vector<LayerPtr>{layers::dense({.units = 4}), layers::dropout(0.5), layers::flatten()});
  sequential->build({-1, 3});
  for (const ModelPtr& model : {ModelPtr(functional), ModelPtr(sequential)}) {
    const ModelPtr clone = clone_model(*model);
    CHECK(to_json<Layer>(*clone) == to_json<Layer>(*model));
    const auto original = model->variables(), cloned = clone->variables();
    REQUIRE(cloned.size() == original.size());
    for (std::size_t i = 0; i < cloned.size(); ++i) {
      CHECK(cloned[i].shape() == original[i].shape());
      CHECK(cloned[i].id() != original[i].id());
    }
  }
}

TEST_CASE("a clone with the weights of its original computes the same", "[clone_model]") {
  const auto model = two_branches();
  const ModelPtr clone = clone_model(*model);
  clone->set_weights(model->get_weights());
  const Tensor x = Tensor::from<float>({2, 3}, {0.5F, -1, 2, 0, 1, -0.25F});
  const auto expected = model->predict_outputs(x, {.verbose = 0}), got = clone->predict_outputs(x, {.verbose = 0});
  REQUIRE(got.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(testing::difference(got[i], expected[i]) == "");
}

TEST_CASE("clone_function makes each layer of a clone once, and may share layers", "[clone_model]") {
  const auto model = two_branches();
  std::vector<std::string> seen;
  const ModelPtr clone = clone_model(*model, [&](const LayerPtr& layer) {
    seen.push_back(layer->name());
    return layer->name() == "between" ? LayerPtr(layers::dense({.units = 3, .use_bias = false, .name = "free"}))
                                      : layer;
  });
  CHECK(seen == std::vector<std::string>{"shared", "between", "sum"});
  CHECK(clone->count_params() == model->count_params() - 3);
  CHECK(clone->layers().at(1) == model->layers().at(1));
}

TEST_CASE("a clone of a stateful model keeps the batch size", "[clone_model]") {
  Sequential model({layers::lstm({.units = 2, .stateful = true})});
  model.build({4, 3, 1});
  const ModelPtr clone = clone_model(model);
  CHECK(clone->input_shape() == Shape{4, 3, 1});
}

TEST_CASE("clone_model refuses models that it cannot clone", "[clone_model]") {
  struct Own : Model {
    Value call(Value x, bool) override { return x; }
  };
  CHECK_THROWS_WITH(clone_model(Own()), ContainsSubstring("expected a Sequential or a Functional model"));
  Sequential model({layers::dense({.units = 1})});
  CHECK_THROWS_WITH(clone_model(model, [](const LayerPtr&) { return LayerPtr(); }),
                    ContainsSubstring("clone_function returned no layer for \"dense"));
}

}  // namespace etude
