#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "added_layers.hpp"
#include "etude/etude.hpp"
#include "support.hpp"

// GroupedQueryAttention, gates and sliding windows. Conformance has cases without masks.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using testing::difference;
using testing::error_of;
using Values = std::span<const Value>;

/// The names of the weights, without that of the layer.
std::vector<std::string> names_of(const Layer& layer) {
  std::vector<std::string> names;
  for (const Variable& weight : layer.weights()) names.push_back(weight.name().substr(layer.name().size() + 1));
  return names;
}

}  // namespace

TEST_CASE("attention of heads has the results, scores and weights of Keras, with any masks", "[layers][attention]") {
  for (const json& test : samples::added_layers("attention")) {
    CAPTURE(test.at("target"), test.at("config"), test.at("options"));
    const auto layer = std::dynamic_pointer_cast<ProjectedAttention>(
        from_json<Layer>(json{{"class_name", test.at("target")}, {"config", test.at("config")}}.dump()));
    std::vector<Tensor> inputs, weights;
    for (const json& input : test.at("inputs")) inputs.push_back(samples::tensor_of_lists(input));
    for (const json& weight : test.at("weights")) weights.push_back(samples::tensor_of_lists(weight));
    (*layer)(inputs);
    CHECK(names_of(*layer) == test.at("names").get<std::vector<std::string>>());
    layer->set_weights(weights);
    const json& options = test.at("options");
    const bool masked = options.contains("attention_mask");
    if (masked) inputs.push_back(samples::tensor_of_lists(options.at("attention_mask")));
    const auto got = evaluate(default_device(), inputs, [&](Values v) {
      const Attended attended = layer->attend({.query = v[0],
                                               .value = v[1],
                                               .attention_mask = masked ? v[2] : Value{},
                                               .use_causal_mask = options.value("use_causal_mask", false)});
      return std::vector{attended.output, attended.scores};
    });
    CHECK(difference(got[0], samples::tensor_of_lists(test.at("y")), {1e-5, 1e-5}) == "");
    CHECK(difference(got[1], samples::tensor_of_lists(test.at("scores")), {1e-5, 1e-5}) == "");
  }
}

TEST_CASE("GroupedQueryAttention is MultiHeadAttention whose heads repeat keys and values", "[layers][attention]") {
  const testing::FloatX wide(DType::float64);
  Random random = testing::draws(1);
  const Tensor query = testing::random_tensor(random, {2, 3, 4}), value = testing::random_tensor(random, {2, 5, 6});
  const auto grouped = layers::grouped_query_attention({.head_dim = 3, .num_query_heads = 6, .num_key_value_heads = 2});
  const auto heads = layers::multi_head_attention({.num_heads = 6, .key_dim = 3});
  (*grouped)({query, value});
  (*heads)({query, value});
  std::vector<Tensor> weights, repeated;
  for (const Variable& weight : grouped->weights()) {
    weights.push_back(testing::random_tensor(random, weight.shape()));
    const bool of_keys =
        weight.name().find("key") != std::string::npos || weight.name().find("value") != std::string::npos;
    const auto repeat = [&](Values v) {
      if (!of_keys) return v[0] + 0.0;
      const auto axis = static_cast<std::ptrdiff_t>(v[0].shape().rank()) - 2;
      std::vector<Value> all;
      for (const Value& head : ops::split(v[0], 2, axis)) all.insert(all.end(), 3, head);
      return ops::concatenate(all, axis);
    };
    repeated.push_back(testing::run({weights.back()}, repeat));
  }
  grouped->set_weights(weights);
  heads->set_weights(repeated);
  CHECK(difference((*grouped)({query, value}), (*heads)({query, value}), {1e-12, 0}) == "");
  // A mask for each head, and the masks of inputs.
  const Tensor mask = testing::random_tensor(random, {2, 6, 3, 5}, DType::boolean, 0, 2);
  Tensor steps({2, 5}, DType::boolean);
  for (const std::size_t i : std::initializer_list<std::size_t>{0, 1, 3, 5, 6}) steps.data<bool>()[i] = true;
  const auto masked = [&](ProjectedAttention& layer) {
    return testing::run({query, value, mask, steps}, [&](Values v) {
      const Value by_head = layer.attend({.query = v[0], .value = v[1], .attention_mask = v[2]}).output;
      return ops::concatenate({by_head, layer.attend({.query = v[0], .value = v[1].with_mask(v[3])}).output});
    });
  };
  CHECK(difference(masked(*grouped), masked(*heads), {1e-12, 0}) == "");
}

TEST_CASE("a model of causal grouped attention trains, and its config makes it again", "[layers][attention]") {
  class Decoder : public Model {
   public:
    Decoder() : Model({.name = "decoder"}) {}
    Value call(Value x, bool training) override {
      return attention->attend({.query = x, .value = x, .use_causal_mask = true, .training = training}).output;
    }
    std::vector<LayerPtr> layers() const override { return {attention}; }
    std::shared_ptr<GroupedQueryAttention> attention = layers::grouped_query_attention(
        {.head_dim = 4, .num_query_heads = 4, .num_key_value_heads = 1, .dropout = 0.1, .use_gate = true, .seed = 2});
  };
  Decoder model;
  model.compile({.optimizer = optimizers::adam({.learning_rate = 0.05}), .loss = "mse"});
  Random random = testing::draws(5);
  const Tensor x = testing::random_tensor(random, {16, 4, 3}, DType::float32);
  const auto history = model.fit(x, x, {.epochs = 40, .verbose = 0});
  CHECK((*history)["loss"].back() < 0.7 * (*history)["loss"].front());
  const json config = json::parse(to_json<Layer>(*model.attention)).at("config");
  CHECK(config.at("num_key_value_heads") == 1);
  CHECK(config.at("use_gate") == true);
  CHECK(config.at("sliding_window").is_null());
}

TEST_CASE("GroupedQueryAttention refuses heads and inputs that do not fit", "[layers][attention][errors]") {
  const auto made = [](std::int64_t queries, std::int64_t keys, std::optional<std::int64_t> window = {}) {
    return layers::grouped_query_attention({.head_dim = 2,
                                            .num_query_heads = queries,
                                            .num_key_value_heads = keys,
                                            .sliding_window = window,
                                            .name = "g"});
  };
  CHECK(error_of([&] { made(5, 2); }) ==
        "[GroupedQueryAttention \"g\"] num_query_heads = 5, num_key_value_heads = 2 - expected a multiple of "
        "num_key_value_heads - set num_query_heads.");
  CHECK_THROWS_WITH(made(4, 0), ContainsSubstring("num_key_value_heads = 0 - expected positive numbers"));
  CHECK_THROWS_WITH(made(4, 2, 0), ContainsSubstring("sliding_window = 0 - expected a positive number"));
  const auto layer = made(4, 2);
  const Tensor image({2, 3, 3, 4});
  CHECK_THROWS_WITH((*layer)({image, image}), ContainsSubstring("a query of shape [2, 3, 3, 4]"));
  CHECK_FALSE(layer->built());
}

}  // namespace etude
