#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "support.hpp"
#include "training_samples.hpp"

// Integers and booleans as inputs of layers that compute with floats.
namespace etude {
namespace {

using namespace samples;
using testing::difference;
using testing::tensor_of;

Tensor small_numbers(const Shape& shape, DType dtype) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.size(); ++i)
    values.push_back(static_cast<double>(dtype == DType::boolean ? i % 2 : i % 3));
  return tensor_of(shape, dtype, values);
}

struct Case {
  const char* name;
  LayerPtr layer;
  Shape shape;
};

std::vector<Case> float_layers() {
  return {{"Dense", layers::dense({.units = 2}), {2, 3}},
          {"Conv2D", layers::conv2d({.filters = 2, .kernel_size = 2}), {2, 4, 4, 3}},
          {"MaxPooling2D", layers::max_pooling2d(), {2, 4, 4, 3}},
          {"GlobalAveragePooling1D", layers::global_average_pooling1d(), {2, 4, 3}},
          {"LSTM", layers::lstm({.units = 2}), {2, 4, 3}},
          {"GRU", layers::gru({.units = 2}), {2, 4, 3}},
          {"SimpleRNN", layers::simple_rnn({.units = 2}), {2, 4, 3}},
          {"BatchNormalization", layers::batch_normalization(), {2, 3}},
          {"LayerNormalization", layers::layer_normalization(), {2, 3}},
          {"Activation", layers::activation("tanh"), {2, 3}},
          {"Dropout", layers::dropout(0.5), {2, 3}},
          {"GaussianNoise", layers::gaussian_noise({.stddev = 1}), {2, 3}},
          {"Rescaling", layers::rescaling({.scale = 0.5}), {2, 3}}};
}

}  // namespace

TEST_CASE("layers make of integers and booleans what they make of the same floats", "[integers]") {
  const DType dtype = GENERATE(DType::uint8, DType::int32, DType::boolean);
  for (const auto& [name, layer, shape] : float_layers()) {
    CAPTURE(name);
    const Tensor x = small_numbers(shape, dtype);
    const Tensor y = (*layer)(x);
    CHECK(y.dtype() == DType::float32);
    CHECK(difference(y, (*layer)(x.astype(DType::float32))) == "");
  }
  const auto attention = layers::multi_head_attention({.num_heads = 1, .key_dim = 2});
  const Tensor x = small_numbers({2, 4, 3}, dtype), floats = x.astype(DType::float32);
  const Tensor y = (*attention)({x, x});
  CHECK(difference(y, (*attention)({floats, floats})) == "");
}

// Keras 3.15.1 with the JAX backend: Dense(1, kernel_initializer="ones")(np.array([[200, 100]], dtype)) is [[300.]] for
// uint8 and int32, [[2.]] for bool.
TEST_CASE("a dense layer adds up bytes as floats", "[integers]") {
  const auto of = [](DType dtype) {
    Sequential model(summing_unit());
    return model.predict(tensor_of({1, 2}, dtype, {200, 100}), {.verbose = 0}).item();
  };
  CHECK(of(DType::uint8) == 300);
  CHECK(of(DType::int32) == 300);
  CHECK(of(DType::boolean) == 2);
}

TEST_CASE("a model trains on integers, booleans and lists of integers as on floats", "[integers]") {
  const Tensor x = Tensor::from<std::int32_t>({4, 3}, {1, 2, 0, 3, 1, 4, 0, 0, 1, 1, 1, 1}),
               y = Tensor::from<std::int32_t>({4, 1}, {1, 0, 1, 0});
  const auto trained = [&](const Data& data) {
    Sequential model(two_dense());
    model.compile(mse());
    model.fit(data, {.batch_size = 2, .epochs = 2, .verbose = 0, .shuffle = false});
    return weights_of(model);
  };
  const std::vector<double> expected = trained(Data(x.astype(DType::float32), y.astype(DType::float32)));
  CHECK(trained(Data(x, y)) == expected);
  CHECK(trained(Data(x.astype(DType::uint8), y.astype(DType::boolean))) == expected);
  CHECK(trained(Data(Column(List{{1, 2, 0}, {3, 1, 4}, {0, 0, 1}, {1, 1, 1}}), Column(List{{1}, {0}, {1}, {0}}))) ==
        expected);
}

TEST_CASE("a flattened image of bytes goes through layers that move it", "[integers]") {
  Sequential model(
      {layers::max_pooling2d(), layers::flatten(), layers::dense({.units = 1, .kernel_initializer = "ones"})});
  CHECK(model.predict(tensor_of({1, 2, 2, 1}, DType::uint8, {7, 255, 3, 0}), {.verbose = 0}).item() == 255);
}

// Keras 3.15.1, JAX backend: Add()([int32, float32]) is float32, Concatenate()([uint8, int32]) int32, of float32 beside
// it float32.
TEST_CASE("layers that merge promote integers beside floats", "[integers]") {
  const Tensor whole = tensor_of({1, 2}, DType::int32, {1, 2}), bytes = tensor_of({1, 2}, DType::uint8, {200, 100}),
               floats = tensor_of({1, 2}, DType::float32, {0.5, 0.25});
  const auto check = [](const LayerPtr& layer, const std::vector<Tensor>& inputs, DType dtype,
                        std::vector<double> wanted) {
    const Tensor y = (*layer)(inputs);
    CHECK(y.dtype() == dtype);
    CHECK(numbers(y) == wanted);
  };
  check(layers::add(), {whole, floats}, DType::float32, {1.5, 2.25});
  check(layers::add(), {floats, bytes}, DType::float32, {200.5, 100.25});
  check(layers::add(), {whole, whole}, DType::int32, {2, 4});
  // Not modulo 256: a model of Keras whose inputs have the default dtype gives 400, too.
  check(layers::add(), {bytes, bytes}, DType::int32, {400, 200});
  check(layers::add(), {bytes, bytes.astype(DType::boolean)}, DType::int32, {201, 101});
  check(layers::concatenate(), {bytes, whole}, DType::int32, {200, 100, 1, 2});
  check(layers::concatenate(), {bytes, floats}, DType::float32, {200, 100, 0.5, 0.25});
  check(layers::concatenate(), {bytes, bytes}, DType::uint8, {200, 100, 200, 100});
}

TEST_CASE("ids stay integers up to the table that they index", "[integers]") {
  const LayerPtr layer = layers::flatten();
  CHECK((*layer)(tensor_of({1, 2, 1}, DType::int32, {16777217, 3})).dtype() == DType::int32);
}

}  // namespace etude
