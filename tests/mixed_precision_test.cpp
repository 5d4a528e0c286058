#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "mirrored_samples.hpp"
#include "model_kinds.hpp"
#include "support.hpp"

// Half precision with variables of float32: policies, layers, and losses that are scaled.

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

const auto policies = {"mixed_float16", "mixed_bfloat16"};

struct Outcome {
  std::unique_ptr<Sequential> model;
  std::vector<double> losses;
};

Outcome trained(const Kind& kind, bool eagerly = false, int replicas = 1) {
  set_random_seed(5);
  const StrategyPtr strategy = replicas > 1 ? mirrored(replicas) : std::make_shared<OneDeviceStrategy>(cpu_device());
  const auto scope = strategy->scope();
  auto model = std::make_unique<Sequential>(kind.layers());
  model->compile({.optimizer = optimizers::adam({.learning_rate = 0.01}),
                  .loss = losses::sparse_categorical_crossentropy({.from_logits = true}),
                  .metrics = {"accuracy"},
                  .run_eagerly = eagerly});
  const HistoryPtr history = model->fit(kind.x, labels, {.batch_size = 8, .epochs = 6, .verbose = 0});
  return {std::move(model), history->history().front().second};
}

}  // namespace

TEST_CASE("a mixed policy computes in half precision, with variables of float32", "[layers][mixed]") {
  for (const auto& [name, half] : {std::pair{"mixed_float16", DType::float16}, {"mixed_bfloat16", DType::bfloat16}}) {
    const LayerPtr layer = layers::dense({.units = 3, .bias_initializer = "ones", .dtype = name});
    const Tensor x = waves({2, 5}), y = (*layer)(x);
    CHECK(layer->compute_dtype() == half);
    CHECK(layer->variable_dtype() == DType::float32);
    CHECK(layer->weights()[0].dtype() == DType::float32);
    CHECK(y.dtype() == half);
    const auto rounded = [to = half](const Tensor& of) { return of.astype(to).astype(DType::float32); };
    const Tensor product = testing::run({rounded(x), rounded(layer->weights()[0].value())},
                                        [](std::span<const Value> v) { return ops::matmul(v[0], v[1]); });
    const Tensor sum = testing::run({rounded(product)}, [](std::span<const Value> v) { return v[0] + 1; });
    CHECK(testing::same_bits(y, sum.astype(half)));
  }
}

TEST_CASE("new layers have the global policy, unless they have their own", "[layers][mixed]") {
  {
    const Policy policy("mixed_bfloat16");
    CHECK(dtype_policy().name() == "mixed_bfloat16");
    CHECK(layers::dense({.units = 1})->compute_dtype() == DType::bfloat16);
    CHECK(layers::dense({.units = 1, .dtype = "float32"})->compute_dtype() == DType::float32);
  }
  CHECK(dtype_policy().name() == "float32");
  CHECK(layers::dense({.units = 1})->compute_dtype() == DType::float32);
  CHECK_THROWS_WITH(set_dtype_policy("mixed_float8"),
                    ContainsSubstring("[DTypePolicy] dtype \"mixed_float8\" - expected"));
  CHECK_THROWS_WITH(layers::dense({.units = 1, .dtype = "float16"}), ContainsSubstring("\"mixed_float16\""));
}

TEST_CASE("models train in half precision to nearly the same loss as in float32", "[training][mixed]") {
  for (const Kind& kind : kinds) {
    const Outcome full = trained(kind);
    for (const char* name : policies) {
      INFO(kind.name << ", " << name);
      const Policy policy(name);
      const Outcome mixed = trained(kind);
      CHECK(mixed.losses.back() < mixed.losses.front());
      CHECK(mixed.losses.back() != full.losses.back());
      CHECK(std::abs(mixed.losses.back() - full.losses.back()) < 0.03);
      CHECK(mixed.model->predict(kind.x, {.verbose = 0}).dtype() == DType::float32);
    }
  }
}

TEST_CASE("a plan in half precision has the same bits as its ops one by one", "[training][mixed]") {
  for (const Kind& kind : kinds)
    for (const char* name : policies) {
      INFO(kind.name << ", " << name);
      const Policy policy(name);
      CHECK(weights_of(*trained(kind).model) == weights_of(*trained(kind, true).model));
    }
}

TEST_CASE("replicas in half precision hold the same bits", "[distribute][mixed]") {
  const Policy policy("mixed_float16");
  const Outcome one = trained(kinds[0]), two = trained(kinds[0], false, 2);
  CHECK(differing_variable(*two.model) == "");
  CHECK(distance(one.losses, two.losses) < 0.03);
}

TEST_CASE("the predictions of a model in half precision are float32", "[training][mixed]") {
  const Policy policy("mixed_bfloat16");
  Sequential model({layers::dense({.units = 2, .activation = "softmax"})});
  const Tensor x = waves({5, 4});
  const Tensor y = model.predict(x, {.verbose = 0});
  CHECK(y.dtype() == DType::float32);
  CHECK(testing::same_bits(y, model.predict_on_batch(x)));
  CHECK(testing::same_bits(y, y.astype(DType::bfloat16).astype(DType::float32)));
}

TEST_CASE("indices of tokens are not rounded", "[layers][mixed]") {
  const Policy policy("mixed_bfloat16");
  Tensor table({1000, 1});
  for (std::size_t i = 0; i < 1000; ++i) table.data<float>()[i] = i == 999 ? 1.0f : 0.0f;
  Sequential model({layers::embedding({.input_dim = 1000, .output_dim = 1})});
  model.build({1, 1});
  model.set_weights({table});
  const Tensor ids = Tensor::from<float>({2, 1}, {999, 998});
  CHECK(model.predict(ids, {.verbose = 0}).at(0) == 1);
  CHECK(model(ids).at(0) == 1);
  CHECK((*model.get_layer(0))(ids).at(0) == 1);
}

TEST_CASE("a crossentropy after a softmax or sigmoid of half precision is computed from logits", "[losses][mixed]") {
  const auto loss_of = [](std::int64_t units, const char* activation, const char* loss) {
    const Policy policy("mixed_bfloat16");
    Sequential model({layers::dense({.units = units, .activation = activation, .use_bias = false})});
    model.compile({.optimizer = optimizers::sgd({.learning_rate = 1}), .loss = loss});
    model.build({1, 1});
    Tensor kernel({1, units});
    kernel.data<float>()[static_cast<std::size_t>(units - 1)] = 9;
    model.set_weights({kernel});
    const double wrong = model.train_on_batch(filled({1, 1}, 1), filled({1, 1}, 0))["loss"];
    CHECK(weights_of(model).back() < 8.1);  // half-precision probabilities are 1 there, with gradients of 0
    return wrong;
  };
  CHECK(std::abs(loss_of(1, "sigmoid", "binary_crossentropy") - 9) < 0.01);
  CHECK(std::abs(loss_of(2, "softmax", "sparse_categorical_crossentropy") - 9) < 0.01);
}

TEST_CASE("means of float16 do not overflow", "[layers][mixed]") {
  const LayerPtr pooling = layers::global_average_pooling1d({.dtype = "mixed_float16"});
  CHECK((*pooling)(filled({1, 1000, 1}, 66)).item() == 66);
  Sequential masked({layers::embedding({.input_dim = 2,
                                        .output_dim = 1,
                                        .embeddings_initializer = initializers::constant({.value = 66}),
                                        .mask_zero = true,
                                        .dtype = "mixed_float16"}),
                     pooling});
  CHECK(masked.predict(filled({1, 1000}, 1), {.verbose = 0}).item() == 66);
  const Tensor ones = filled({70000}, 1).astype(DType::float16);
  CHECK(testing::run({ones}, [](std::span<const Value> x) { return ops::mean(x[0]); }).item() == 1);
}

TEST_CASE("scores of attention do not overflow in float16", "[layers][mixed]") {
  const auto attention = std::make_shared<MultiHeadAttention>(
      MultiHeadAttentionOptions{.num_heads = 1,
                                .key_dim = 64,
                                .kernel_initializer = initializers::constant({.value = 0.125}),
                                .dtype = "mixed_float16"});
  const Tensor x = filled({1, 2, 64}, 5);  // queries and keys of 40: their product is 102400
  CHECK(std::isfinite((*attention)({x, x}).at(0)));
}

TEST_CASE("custom metrics get float32", "[metrics][mixed]") {
  struct Noting : Sum {
    using Sum::Sum;
    void update_state(Value, Value y_pred, Value) override {
      seen = y_pred.dtype();
      update(y_pred);
    }
    DType seen = DType::boolean;
  };
  const Policy policy("mixed_bfloat16");
  const auto noting = std::make_shared<Noting>("noting");
  Sequential model(two_dense());
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {noting}});
  model.train_on_batch(waves({4, 3}), waves({4, 1}));
  CHECK(noting->seen == DType::float32);
}

TEST_CASE("averages of batches are kept in float32", "[layers][mixed]") {
  const LayerPtr layer = layers::batch_normalization({.momentum = 0, .dtype = "mixed_bfloat16"});
  Tensor x({512, 1});
  for (std::size_t i = 0; i < 512; ++i) x.data<float>()[i] = i % 2 ? 1.0f : 1.0078125f;  // both bfloat16
  CHECK((*layer)(x, true).dtype() == DType::bfloat16);
  CHECK(layer->weights()[2].value().item() == 1.00390625);  // not bfloat16
}

TEST_CASE("attention in float16 ignores masked entries", "[layers][mixed]") {
  const Policy policy("mixed_float16");
  const auto attention = std::make_shared<MultiHeadAttention>(MultiHeadAttentionOptions{.num_heads = 2, .key_dim = 4});
  const Tensor x = waves({1, 3, 4}), mask = Tensor::from<std::uint8_t>({1, 3, 3}, {1, 1, 0, 1, 1, 0, 1, 1, 0});
  Tensor changed = x.clone();
  for (std::size_t i = 8; i < 12; ++i) changed.data<float>()[i] = 3;
  const auto attended = [&](const Tensor& value) { return (*attention)({x, value, value, mask}); };
  const Tensor y = attended(x);
  CHECK(std::isfinite(y.at(0)));
  CHECK(testing::same_bits(y, attended(changed)));
}

}  // namespace etude
