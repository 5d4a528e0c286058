#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

#include "etude/execution/eager.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/pooling.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "golden.hpp"
#include "op_cases.hpp"
#include "training_samples.hpp"
#include "zero_extents.hpp"

// Extents of 0 along any axis, for every op and every class: an Error, or a result of the shape that follows from the
// rule for other extents. No case may crash, hang, or leave a model unusable.

using namespace etude;
using namespace etude::testing;
using samples::waves;

namespace {

/// Op by op, as `run_eagerly` computes.
Tensor eagerly(Device& device, const std::vector<Tensor>& inputs, const Function& function) {
  Graph graph;
  const Eager eager(graph, device, inputs);
  const Trace trace(graph);
  std::vector<Value> x;
  for (const Tensor& tensor : inputs) x.push_back(graph.input(tensor.shape(), tensor.dtype()));
  return eager.value(function(x).id());
}

Tensor empty(const Shape& shape) { return Tensor(shape); }

}  // namespace

TEST_CASE("every op accepts extents of 0, or throws an Error", "[zero]") {
  Device& device = default_device();
  int computed = 0;
  for (const OpCase& one : cases_without_elements())
    for (const DType dtype : {DType::float32, DType::float64, DType::float16}) {
      INFO(one.name << ", " << dtype);
      const std::vector<Tensor> x = one.draw(7, dtype);
      const auto planned = unless_error([&] { return run_on(device, x, one.function); });
      const auto eager = unless_error([&] { return eagerly(device, x, one.function); });
      REQUIRE(planned.has_value() == eager.has_value());
      if (!planned) continue;
      ++computed;
      CHECK(same_bits(*planned, *eager));
      if (dtype == DType::float16) continue;
      const Function training = with_gradients(one.function);
      const auto trained = unless_error([&] { return run_on(device, x, training); });
      if (trained) CHECK(same_bits(*trained, eagerly(device, x, training)));
    }
  CHECK(computed > 1000);
}

TEST_CASE("results for empty tensors match NumPy and JAX", "[zero]") {
  const auto check = [](const Tensor& x, const Function& function, const Shape& shape,
                        const std::vector<double>& want) {
    for (Cpu& device : instruction_sets()) {
      const Tensor y = run_on(device, {&x, 1}, function);
      CHECK(y.shape() == shape);
      CHECK(difference(numbers(y), want) == "");
    }
  };
  const nlohmann::json wanted = keras(3, "computed of nothing").at("values");
  std::size_t cases = 0;
  const auto as_jax = [&](const char* name, const Tensor& x, const Function& function) {
    CAPTURE(name);
    ++cases;
    check(x, function, shape_in(wanted.at(name).at("shape")), numbers_in(wanted.at(name).at("value")));
  };
  const auto product = [](Values x) { return ops::matmul(x[0], x[0], false, true); };
  const auto mean = [](std::ptrdiff_t axis) { return [=](Values x) { return ops::mean(x[0], {axis}); }; };
  const auto sum = [](std::ptrdiff_t axis) { return [=](Values x) { return ops::sum(x[0], {axis}); }; };
  const auto scatter = [](const Shape& shape, std::int64_t rows) {
    return [=](Values x) { return ops::scatter_add(x[0].graph().constant(1, DType::float32, shape), x[0], rows); };
  };
  as_jax("sum [2, 0] over 1", empty({2, 0}), sum(1));
  as_jax("sum [0, 3] over 0", empty({0, 3}), sum(0));
  as_jax("sum [0, 3] over 1", empty({0, 3}), sum(1));
  as_jax("sum [2, 0, 3] over 1", empty({2, 0, 3}), sum(1));
  as_jax("sum [2, 0]", empty({2, 0}), [](Values x) { return ops::sum(x[0]); });
  as_jax("mean [2, 0] over 1", empty({2, 0}), mean(1));
  as_jax("mean [0, 3] over 0", empty({0, 3}), mean(0));
  as_jax("mean [0, 3] over 1", empty({0, 3}), mean(1));
  as_jax("max [0, 3] over 1", empty({0, 3}), [](Values x) { return ops::max(x[0], {1}); });
  as_jax("softmax [2, 0]", empty({2, 0}), [](Values x) { return ops::softmax(x[0]); });
  as_jax("matmul [2, 0] [0, 2]", empty({2, 0}), product);
  as_jax("matmul [3, 2, 0] [3, 0, 2]", empty({3, 2, 0}), product);
  as_jax("relu of matmul [2, 0] [0, 2] + 1", empty({2, 0}), [&](Values x) { return ops::relu(product(x) + 1); });
  as_jax("concatenate [0, 3] twice", empty({0, 3}), [](Values x) { return ops::concatenate({x[0], x[0]}, 0); });
  as_jax("broadcast [1] to [0]", empty({1}), [](Values x) { return ops::broadcast_to(x[0], {0}); });
  as_jax("one_hot [0] of 3", Tensor({0}, DType::int32), [](Values x) { return ops::one_hot(x[0], 3, DType::float32); });
  as_jax("segment_sum [0, 2] to 3", Tensor({0}, DType::int32), scatter({0, 2}, 3));
  as_jax("segment_sum [4, 2] to 0", Tensor({4}, DType::int32), scatter({4, 2}, 0));
  as_jax("max_pool [0, 4, 4, 1] by 2", empty({0, 4, 4, 1}),
         [](Values x) { return ops::max_pool(x[0], {.extent = {2, 2}}); });
  CHECK(cases == wanted.size());

  check(empty({0}), [](Values x) { return ops::sum_to(x[0], {1}); }, {1}, {0});
  // Étude differs here: missing rows of a table are NaN; JAX throws for an empty table.
  check(
      Tensor::from<std::int32_t>({2}, {0, 2}),
      [](Values x) { return ops::take(x[0].graph().constant(0, DType::float32, {0, 3}), x[0]); }, {2, 3},
      std::vector<double>(6, std::nan("")));
  const Window window{.extent = {2, 2}};
  check(
      empty({0, 4, 4, 1}),
      [=](Values x) {
        return ops::convolution_filter(x[0], x[0].graph().constant(1, DType::float32, {0, 3, 3, 2}), window,
                                       {2, 2, 1, 2});
      },
      {2, 2, 1, 2}, zeros(8));

  for (const auto& [name, error] : keras(3, "computed of nothing").at("refused").items()) CHECK_FALSE(error.is_null());
  CHECK(kind_of([] { run({Tensor({2, 0})}, [](Values x) { return ops::max(x[0], {1}); }); }) == ErrorKind::shape);
  CHECK(kind_of([] { run({Tensor({2, 0})}, [](Values x) { return ops::argmax(x[0]); }); }) == ErrorKind::shape);
}

namespace {

bool takes_several(const std::string& name) {
  return name == "Add" || name == "Concatenate" || name == "GroupedQueryAttention" || name == "MultiHeadAttention";
}

/// The output of a new layer of that class for zeros.
Tensor output_of(const std::string& name, const Shape& shape, bool training) {
  const LayerPtr layer = made<Layer>(name);
  const Tensor x(shape);
  return takes_several(name) ? (*layer)(std::vector<Tensor>{x, x}, training) : (*layer)(x, training);
}

/// The output's shape for one input extent of 0, from those for 4 and 8; nothing if one of those is an error.
std::optional<std::vector<std::int64_t>> extrapolated(const std::string& name, Shape shape, std::ptrdiff_t axis) {
  shape[axis] = 4;
  const auto at_4 = unless_error([&] { return output_of(name, shape, false); });
  shape[axis] = 8;
  const auto at_8 = unless_error([&] { return output_of(name, shape, false); });
  if (!at_4 || !at_8) return std::nullopt;
  std::vector<std::int64_t> result;
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(at_4->shape().rank()); ++i)
    result.push_back(2 * at_4->shape()[i] - at_8->shape()[i]);
  return result;
}

const std::vector<Shape> input_shapes{{4, 4}, {4, 4, 4}, {4, 4, 4, 4}};

}  // namespace

TEST_CASE("every layer accepts extents of 0, or throws an Error", "[zero]") {
  for (const std::string& name : class_names<Layer>())
    for (const Shape& whole : input_shapes)
      for (std::ptrdiff_t axis = 0; axis < static_cast<std::ptrdiff_t>(whole.rank()); ++axis)
        for (const bool training : {false, true}) {
          Shape shape = whole;
          shape[axis] = 0;
          INFO(name << ' ' << shape << (training ? ", training" : ""));
          const auto y = unless_error([&] { return output_of(name, shape, training); });
          const auto want = extrapolated(name, whole, axis);
          if (axis == 0) CHECK(y.has_value() == want.has_value());  // an empty batch is a batch like others
          if (!y) continue;
          REQUIRE(want);
          CHECK(std::vector<std::int64_t>(y->shape().begin(), y->shape().end()) == *want);
        }
}

TEST_CASE("a model of every layer predicts and fits data with extents of 0, or throws an Error and stays usable",
          "[zero]") {
  for (const std::string& name : class_names<Layer>()) {
    if (takes_several(name)) continue;
    for (const Shape& whole : input_shapes)
      for (std::ptrdiff_t axis = 0; axis < static_cast<std::ptrdiff_t>(whole.rank()); ++axis) {
        Shape shape = whole;
        shape[axis] = 0;
        INFO(name << ' ' << shape);
        Sequential model({made<Layer>(name)});
        model.compile(samples::mse());
        const Tensor x(shape);
        static_cast<void>(unless_error([&] { return model.predict(x, {.verbose = 0}); }));
        static_cast<void>(unless_error([&] {
          const Tensor y(output_of(name, shape, true).shape());
          model.fit(x, y, {.epochs = 1, .verbose = 0});
          return y;
        }));
        // It stays usable: it still accepts or rejects shapes for which it was not built.
        const std::string again = error_of([&] { model.predict(Tensor(whole), {.verbose = 0}); });
        CHECK(again.find("ongoing") == std::string::npos);
      }
  }
}

TEST_CASE("normalization of an empty tensor returns an empty tensor", "[zero]") {
  CHECK(keras(2, "normalization of nothing") == keras(3, "normalization of nothing"));
  for (const auto& test : keras(3, "normalization of nothing")) {
    const Shape shape = shape_in(test.at("shape"));
    CHECK((*layers::batch_normalization())(Tensor(shape)).shape() == shape_in(test.at("BatchNormalization")));
    CHECK((*layers::layer_normalization())(Tensor(shape)).shape() == shape_in(test.at("LayerNormalization")));
  }
  Sequential model({layers::batch_normalization()});
  CHECK(model.predict(Tensor({2, 0, 4}), {.verbose = 0}).shape() == Shape{2, 0, 4});
}

namespace {

/// A layer of several inputs that gets its only one twice. Functional models accept no extents of 0.
class Doubling : public Model {
 public:
  explicit Doubling(LayerPtr layer) : layer_(std::move(layer)) {}
  std::vector<LayerPtr> layers() const override { return {layer_}; }
  Value call(Value x, bool training) override { return (*layer_)(std::vector<Value>{x, x}, training); }

 private:
  LayerPtr layer_;
};

}  // namespace

TEST_CASE("a model of a layer with several inputs predicts and fits data with extents of 0, or throws an Error",
          "[zero]") {
  int fitted = 0;
  for (const std::string& name : class_names<Layer>()) {
    if (!takes_several(name)) continue;
    for (const Shape& whole : input_shapes)
      for (std::ptrdiff_t axis = 0; axis < static_cast<std::ptrdiff_t>(whole.rank()); ++axis) {
        Shape shape = whole;
        shape[axis] = 0;
        INFO(name << ' ' << shape);
        Doubling model(made<Layer>(name));
        model.compile(samples::mse());
        const Tensor x(shape);
        const auto predicted = unless_error([&] { return model.predict(x, {.verbose = 0}); });
        const auto want = extrapolated(name, whole, axis);
        if (predicted) {
          REQUIRE(want);
          CHECK(std::vector<std::int64_t>(predicted->shape().begin(), predicted->shape().end()) == *want);
          fitted += unless_error([&] {
                      model.fit(x, Tensor(predicted->shape()), {.epochs = 1, .verbose = 0});
                      return x;
                    }).has_value();
        }
        const std::string again = error_of([&] { model.predict(Tensor(whole), {.verbose = 0}); });
        CHECK(again.find("ongoing") == std::string::npos);
      }
  }
  INFO(fitted << " fitted");
  CHECK(fitted > 0);
}

TEST_CASE("windows without extent or stride are refused", "[zero]") {
  const Tensor x({1, 4, 4, 1});
  const auto refused = [&](const Window& window) {
    const auto pooled = kind_of([&] { run({x}, [&](Values v) { return ops::max_pool(v[0], window); }); });
    const auto convolved = kind_of(
        [&] { run({x, Tensor({2, 2, 1, 1})}, [&](Values v) { return ops::convolution(v[0], v[1], window); }); });
    const auto padded = kind_of([&] { ops::padded(window, "same", {4, 4}); });
    CHECK(pooled == ErrorKind::value);
    CHECK(convolved == ErrorKind::value);
    CHECK(padded == ErrorKind::value);
  };
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  refused({.extent = {2, 2}, .strides = {0, 1}});
  refused({.extent = {2, 2}, .strides = {1, -1}});
  refused({.extent = {0, 2}});
  refused({.extent = {2, 2}, .dilation = {0, 1}});
  refused({.extent = {2, 2}, .before = {-1, 0}});
  refused({.extent = {huge, 2}});
  refused({.extent = {2, 2}, .strides = {huge, 1}});
  refused({.extent = {2, 2}, .dilation = {1, huge}});
  refused({.extent = {2, 2}, .after = {huge, 0}});
}
