#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "etude/base/detail/crc32c.hpp"
#include "etude/etude.hpp"
#include "golden.hpp"

using namespace etude;
using namespace etude::testing;
using nlohmann::json;

namespace {

std::uint32_t checksum(const Tensor& tensor) { return crc32c(std::as_bytes(std::span(tensor.raw(), tensor.bytes()))); }

/// Elements drawn one by one, in order, from the stream of seed 9.
template <class Draw> Tensor one_by_one(const Shape& shape, DType dtype, Draw draw) {
  Tensor wide(shape, DType::float64);
  Random random(9, RandomStream::initializer);
  for (double& x : wide.data<double>()) x = draw(random);
  return wide.astype(dtype);
}

Tensor constant(initializers::ConstantValue value, const Shape& shape, DType dtype = DType::float32) {
  return (*initializers::constant({.value = std::move(value)}))(shape, dtype);
}

json round_trip(const std::string& value) {
  const auto made = from_json<Initializer>(R"({"class_name": "Constant", "config": {"value": )" + value + "}}");
  return json::parse(to_json(*made))["config"]["value"];
}

}  // namespace

TEST_CASE("initial values equal the draws one by one, for any number and dtype", "[initializers]") {
  for (const Shape& shape :
       {Shape{1, 1}, Shape{3, 5}, Shape{1, 511}, Shape{8, 64}, Shape{1, 513}, Shape{7, 11, 30}, Shape{0, 4}})
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
      INFO(shape << ' ' << dtype);
      const double columns = static_cast<double>(shape[-1]), rows = static_cast<double>(shape[-2]),
                   field = shape.rank() == 3 ? static_cast<double>(shape[0]) : 1;
      const double limit = std::sqrt(3 / std::max(field * (rows + columns) / 2, 1.0));
      const double deviation = std::sqrt(2 / std::max(field * rows, 1.0)) / 0.87962566103423978;
      CHECK(same_bits((*initializers::glorot_uniform({.seed = 9}))(shape, dtype),
                      one_by_one(shape, dtype, [&](Random& random) {
                        return (2 * static_cast<double>(random.uniform()) - 1) * limit;
                      })));
      CHECK(same_bits((*initializers::random_uniform({.minval = -0.3, .maxval = 0.7, .seed = 9}))(shape, dtype),
                      one_by_one(shape, dtype, [](Random& random) {
                        return -0.3 + (0.7 - -0.3) * static_cast<double>(random.uniform());
                      })));
      CHECK(same_bits((*initializers::he_normal({.seed = 9}))(shape, dtype),
                      one_by_one(shape, dtype, [&](Random& random) { return random.truncated_normal() * deviation; })));
      CHECK(same_bits((*initializers::random_normal({.mean = 1, .stddev = 0.1, .seed = 9}))(shape, dtype),
                      one_by_one(shape, dtype, [](Random& random) { return 1 + 0.1 * random.normal(); })));
    }
}

TEST_CASE("the named initializers are variance scaling with other options", "[initializers]") {
  const Shape shape{3, 4, 5};
  const auto drawn = [&](const InitializerPtr& initializer) { return (*initializer)(shape, DType::float64); };
  using initializers::variance_scaling;
  CHECK(same_bits(drawn(variance_scaling({.mode = "fan_avg", .distribution = "uniform", .seed = 9})),
                  drawn(initializers::glorot_uniform({.seed = 9}))));
  CHECK(same_bits(drawn(variance_scaling({.scale = 2, .seed = 9})), drawn(initializers::he_normal({.seed = 9}))));
  CHECK(same_bits(drawn(variance_scaling({.distribution = "normal", .seed = 9})),
                  drawn(initializers::lecun_normal({.seed = 9}))));
}

TEST_CASE("variance scaling divides by the fan of its mode, or of its axes", "[initializers]") {
  const auto deviation = [](initializers::VarianceScalingOptions options) {
    options.distribution = "untruncated_normal";
    options.seed = 9;
    const Tensor drawn = (*initializers::variance_scaling(options))({3, 4, 5}, DType::float64);
    return drawn.at(0) / Random(9, RandomStream::initializer).normal();
  };
  CHECK(std::abs(deviation({.mode = "fan_in"}) - std::sqrt(1.0 / 12)) < 1e-12);
  CHECK(std::abs(deviation({.scale = 3, .mode = "fan_out"}) - std::sqrt(3.0 / 15)) < 1e-12);
  CHECK(std::abs(deviation({.mode = "fan_avg"}) - std::sqrt(1 / 13.5)) < 1e-12);
  CHECK(std::abs(deviation({.mode = "fan_in", .input_axes = {-1}, .output_axes = {0, 1}}) - std::sqrt(1.0 / 5)) <
        1e-12);
  CHECK(std::abs(deviation({.mode = "fan_out", .input_axes = {-1}, .output_axes = {0, 1}}) - std::sqrt(1.0 / 12)) <
        1e-12);
}

TEST_CASE("glorot, he and lecun divide by the fans of given axes", "[initializers]") {
  using namespace initializers;
  const auto values = [](const InitializerPtr& initializer) {
    return numbers((*initializer)({3, 4, 5}, DType::float64));
  };
  CHECK(values(glorot_uniform({.seed = 9, .input_axes = {-1}, .output_axes = {0, 1}})) ==
        values(variance_scaling(
            {.mode = "fan_avg", .distribution = "uniform", .seed = 9, .input_axes = {-1}, .output_axes = {0, 1}})));
  CHECK(values(he_normal({.seed = 9, .input_axes = {0}, .output_axes = {1}})) ==
        values(variance_scaling({.scale = 2, .seed = 9, .input_axes = {0}, .output_axes = {1}})));
  CHECK(error_of([] { lecun_normal({.output_axes = 0}); }) ==
        "[LecunNormal] only one of input_axes and output_axes - expected both or none - set the other one too.");
}

TEST_CASE("initializers of structured values refuse invalid options and other shapes", "[initializers]") {
  using namespace initializers;
  CHECK(error_of([] { variance_scaling({.scale = 0}); }) ==
        "[VarianceScaling] scale = 0 - expected a finite number above 0 - set scale.");
  CHECK(error_of([] { variance_scaling({.mode = "fan"}); }) ==
        "[VarianceScaling] mode = \"fan\" - expected one of: \"fan_in\", \"fan_out\", \"fan_avg\" - choose one.");
  CHECK(error_of([] { variance_scaling({.input_axes = 0}); }) ==
        "[VarianceScaling] only one of input_axes and output_axes - expected both or none - set the other one too.");
  CHECK(error_of([] {
          (*variance_scaling({.input_axes = 3, .output_axes = 0}))({2, 2}, DType::float32);
        }).starts_with("[VarianceScaling] "));
  CHECK(error_of([] { (*identity())({2, 2, 2}, DType::float32); }) ==
        "[Identity] shape [2, 2, 2] - expected a matrix - use another initializer.");
  CHECK(error_of([] {
          stft({.window = "round"});
        }).starts_with("[STFT] window = \"round\" - expected one of: \"hann\", "));
  CHECK(error_of([] { (*stft())({4, 2, 3}, DType::float32); }).starts_with("[STFT] shape [4, 2, 3] - "));
}

// The bits of values drawn one by one. Saved experiments contain such numbers: they must not change.
TEST_CASE("uniform initial values have fixed bits", "[initializers]") {
  struct Case {
    const char* name;
    DType dtype;
    std::uint32_t bits;
  };
  for (const Case& one : {Case{"glorot_uniform", DType::float32, 0x419ccc3d},
                          {"he_uniform", DType::float32, 0x8bc3e545},
                          {"lecun_uniform", DType::float32, 0xb8f355a2},
                          {"random_uniform", DType::float32, 0xb67ea72a},
                          {"glorot_normal", DType::float32, 0x1814b921},
                          {"random_normal", DType::float32, 0x7159e151},
                          {"truncated_normal", DType::float32, 0xdc00627f},
                          {"glorot_uniform", DType::float64, 0x78d2a3fb},
                          {"random_uniform", DType::float64, 0x2737d9a4},
                          {"glorot_uniform", DType::float16, 0x8d4dc065},
                          {"glorot_uniform", DType::bfloat16, 0xaaa6fd62}}) {
    INFO(one.name << ' ' << one.dtype);
    set_random_seed(11);
    CHECK(checksum((*initializers::get(one.name))({257, 131}, one.dtype)) == one.bits);
  }
  set_random_seed(0);
}

TEST_CASE("Constant broadcasts an array to the weight, as NumPy does", "[initializers]") {
  int cases = 0;
  for (const json& test : golden("conformance/keras3.json")) {
    if (test.at("target") != "Constant") continue;
    const auto made = from_json<Initializer>(json{{"class_name", "Constant"}, {"config", test.at("config")}}.dump());
    CHECK(numbers((*made)(testing::shape_in(test.at("inputs").at("shape")), DType::float32)) ==
          numbers_in(test.at("expect").at("value")));
    ++cases;
  }
  CHECK(cases == 4);
  CHECK(numbers(constant(Tensor::from<std::int32_t>({2, 2}, {1, 2, 3, 4}), {2, 2}, DType::float64)) ==
        std::vector<double>{1, 2, 3, 4});
  CHECK(numbers(constant({1.75}, {2}, DType::int32)) == std::vector<double>{1, 1});

  const LayerPtr dense = layers::dense(
      {.units = 2,
       .kernel_initializer = initializers::constant({.value = Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6})}),
       .bias_initializer = initializers::constant({.value = {7, 8}})});
  Sequential model({dense});
  CHECK(numbers(model.predict(Tensor::from<float>({1, 3}, {1, 1, 1}), {.verbose = 0})) == std::vector<double>{16, 20});
}

TEST_CASE("an array for Constant that does not broadcast to the weight's shape is an Error", "[initializers]") {
  CHECK(kind_of([] { constant({1, 2, 3}, {3, 2}); }) == ErrorKind::shape);
  // Keras 3 rejects the first too; for the second it creates a weight of another shape than requested.
  const json wanted = testing::keras(3, "Constant of an array");
  CHECK(wanted.at("refused").at("kind") == "ValueError");
  CHECK(wanted.at("shape of [2, 3] for [3]") == json{2, 3});
  CHECK(error_of([] { constant(Tensor({2, 3}), {3}); }) ==
        "[Constant] an array of shape [2, 3] for a weight of shape [3] - expected a shape that broadcasts to it - "
        "reshape "
        "the array.");
  CHECK(kind_of([] { constant({1, 2, 3}, {1}); }) == ErrorKind::shape);
}

TEST_CASE("Constant's array is saved as lists, and read in Keras's format", "[initializers][config]") {
  CHECK(round_trip("2") == 2);
  const json configs = testing::keras(3, "Constant of an array");
  const json list = configs.at("config of a list").at("value");
  CHECK(round_trip(list.dump()) == list);
  CHECK(round_trip("[[1.5, 2], [3, 4]]") == json{{1.5, 2}, {3, 4}});
  CHECK(round_trip("[]") == json::array());
  CHECK(round_trip(configs.at("config of an array").at("value").dump()) == json::array({{1, 2, 3}}));
  for (const char* wrong : {"\"one\"", "[1, \"two\"]", "[[1, 2], [3]]", "[1, [2]]", "[[1], 2]", "{\"a\": 1}",
                            "[[[[[[[[[1]]]]]]]]]", "null"}) {
    INFO(wrong);
    CHECK(kind_of([&] { round_trip(wrong); }) == ErrorKind::value);
  }
}
