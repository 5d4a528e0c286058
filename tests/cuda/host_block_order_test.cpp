#include <catch2/catch_test_macros.hpp>

#include "convolution_samples.hpp"
#include "cuda/cuda.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "host_runtime.hpp"

using namespace etude;
using namespace etude::testing;

namespace {

std::unique_ptr<cuda::Runtime> runtime(bool first_block_first) {
  auto result = std::make_unique<HostRuntime>();
  result->first_block_first = first_block_first;
  return result;
}

}  // namespace

TEST_CASE("results of several blocks do not depend on the blocks' order", "[cuda][order]") {
  using Values = std::span<const Value>;
  const auto a_number = [](const Shape& shape) { return Argument{shape, Argument::Numbers::between, -2, 2}; };
  const Argument indices{{5000}, Argument::Numbers::between, -3, 903, DType::int32};
  std::vector<OpCase> cases{
      {"a sum", {a_number({20000})}, [](Values v) { return ops::sum(v[0]); }},
      {"a sum of columns", {a_number({5000, 10})}, [](Values v) { return ops::sum(v[0], {0}); }},
      {"a softmax", {a_number({2, 20000})}, [](Values v) { return ops::softmax(v[0]); }},
      {"a crossentropy",
       {a_number({2, 20000}), a_number({2, 20000})},
       [](Values v) { return ops::softmax_crossentropy(v[0], v[1]); }},
      {"an argmax", {a_number({3, 20000})}, [](Values v) { return ops::argmax(v[0]); }},
      {"a scatter", {a_number({5000, 40}), indices}, [](Values v) { return ops::scatter_add(v[0], v[1], 900); }},
      {"a product", {a_number({70, 1000}), a_number({1000, 70})}, [](Values v) { return ops::matmul(v[0], v[1]); }}};
  const samples::Convolved depthwise{.x = {2, 20, 18, 36}, .kernel = {3, 3, 1, 36}, .same = true};
  for (const Function& function : samples::functions_of(depthwise))
    cases.push_back(
        {"depthwise", {a_number(depthwise.x), a_number(depthwise.kernel), a_number(depthwise.y())}, function});
  Cuda forwards("/gpu:0", runtime(true)), backwards("/gpu:0", runtime(false));
  for (const OpCase& one : cases) {
    INFO(one.name);
    const std::vector<Tensor> x = one.draw(4, DType::float32);
    CHECK(same_bits(run_on(forwards, x, one.function), run_on(backwards, x, one.function)));
  }
}
