#include <catch2/catch_test_macros.hpp>

#include "etude/etude.hpp"
#include "support.hpp"

// Layers of several inputs with masks. Numbers: Keras 3.15.1 with JAX.
namespace etude {
namespace {

using testing::difference;
using testing::numbers;
using testing::run;
using testing::tensor_of;
using Numbers = std::vector<double>;
using Values = std::span<const Value>;

const Tensor first = tensor_of({1, 4, 2}, DType::float32, {0, 0, 1, 2, 0, 0, 3, 4});
const Tensor second = tensor_of({1, 4, 2}, DType::float32, {0, 0, 0, 0, 1, 2, 3, 4});
const Tensor third = tensor_of({1, 4, 2}, DType::float32, {-1, -2, -3, -4, 0, 0, 5, 6});

Value masked(Value x) { return (*layers::masking())(x); }

}  // namespace

TEST_CASE("multiply, maximum and minimum leave out the entries that the mask of an input excludes (A-19)",
          "[layers][mask]") {
  struct Row {
    LayerPtr layer;
    Numbers both, one, three;
  };
  const std::vector<Row> rows{
      {layers::multiply(), {0, 0, 1, 2, 1, 2, 9, 16}, {0, 0, 0, 0, 1, 2, 9, 16}, {-1, -2, 3, 8, 1, 2, -45, -96}},
      {layers::maximum(), {0, 0, 1, 2, 1, 2, 3, 4}, {0, 0, 1, 2, 1, 2, 3, 4}, {-1, -2, -1, -2, 1, 2, 5, 6}},
      {layers::minimum(), {0, 0, 1, 2, 1, 2, 3, 4}, {0, 0, 0, 0, 1, 2, 3, 4}, {-1, -2, -3, -4, 1, 2, -3, -4}}};
  for (const auto& [layer, both, one, three] : rows) {
    CAPTURE(layer->class_name());
    CHECK(numbers(run({first, second}, [&](Values v) { return (*layer)({masked(v[0]), masked(v[1])}).front(); })) ==
          both);
    CHECK(numbers(run({first, second}, [&](Values v) { return (*layer)({masked(v[0]), v[1]}).front(); })) == one);
    CHECK(numbers(run({first, second, third}, [&](Values v) {
            return (*layer)({masked(-v[0]), masked(v[1]), masked(v[2])}).front();
          })) == three);
    const auto mask = [&](Values v) { return (*layer)({masked(v[0]), masked(v[1])}).front().mask(); };
    CHECK(numbers(run({first, second}, mask)) == Numbers{0, 1, 1, 1});
    static_cast<void>(run({first, second}, [&](Values v) {
      const Value y = (*layer)({masked(v[0]), v[1]}).front();
      CHECK_FALSE(y.mask());
      return y;
    }));
  }
}

TEST_CASE("concatenated features count where any input does; inputs without a mask count everywhere (A-19)",
          "[layers][mask]") {
  const LayerPtr layer = layers::concatenate({.axis = 2});
  CHECK(numbers(run({first, second}, [&](Values v) {
          return (*layer)({masked(v[0]), masked(v[1])}).front().mask();
        })) == Numbers{0, 1, 1, 1});
  CHECK(numbers(run({first, second}, [&](Values v) { return (*layer)({masked(v[0]), v[1]}).front().mask(); })) ==
        Numbers{1, 1, 1, 1});
}

TEST_CASE("TimeDistributed gives its layer the mask of each step", "[layers][mask][recurrent]") {
  const LayerPtr words = layers::embedding({.input_dim = 5, .output_dim = 2, .mask_zero = true});
  const LayerPtr lstm = layers::lstm({.units = 2});
  const LayerPtr sentences = layers::time_distributed({.layer = lstm});
  const Tensor ids = tensor_of({2, 2, 3}, DType::int32, {1, 2, 0, 3, 0, 0, 4, 1, 2, 0, 0, 0});
  const auto result = [&] { return run({ids}, [&](Values v) { return (*sentences)((*words)(v[0])); }); };
  static_cast<void>(result());  // builds the layers
  const auto spaced = [](const Variable& variable, double low, double high) {
    const std::int64_t count = variable.shape().size();
    Numbers values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(count - 1));
    Variable(variable).assign(tensor_of(variable.shape(), DType::float32, values));
  };
  spaced(words->variables().front(), 0, 0.9);
  for (const Variable& variable : lstm->weights()) spaced(variable, -1, 1);
  const Numbers expected{0.06057761609554291,
                         0.20217841863632202,
                         0.036954935640096664,
                         0.13173387944698334,
                         0.07372066378593445,
                         0.2442270815372467,
                         0,
                         0};
  CHECK(difference(numbers(result()), expected, {.atol = 1e-6}).empty());
}

}  // namespace etude
