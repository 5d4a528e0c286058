#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "attention_samples.hpp"
#include "cuda/cuda.hpp"
#include "etude/execution/explain.hpp"
#include "etude/layers/layers.hpp"
#include "host_runtime.hpp"
#include "runtime_under_test.hpp"
#include "support.hpp"

// Attention by separate kernels, compared with products and a softmax. Only on the host: these kernels are chosen for
// shapes that take too long for a test.

using namespace etude;
using namespace etude::samples;
using namespace etude::testing;

namespace {

using Catch::Matchers::ContainsSubstring;
using Values = std::span<const Value>;

/// Records the names of the kernels that it launches.
class NamingRuntime : public PassingRuntime {
 public:
  NamingRuntime() : PassingRuntime(std::make_unique<HostRuntime>(true)) {}
  std::vector<std::string> names;
  using PassingRuntime::launch;
  void launch(const cuda::Kernel& kernel, std::int64_t blocks, const void* arguments) override {
    names.emplace_back(kernel.name);
    PassingRuntime::launch(kernel, blocks, arguments);
  }
};

/// A GPU that attends to all shapes of its kernels, or to none.
struct Gpu {
  explicit Gpu(bool attends = true)
      : device("/gpu:0", std::make_unique<NamingRuntime>(), {.most_attention_work = attends ? 1000 : 0}) {}
  std::vector<std::string>& names() { return static_cast<NamingRuntime&>(device.runtime()).names; }
  Cuda device;
};

const std::vector<std::string> all_kernels{"attention", "attention's gradient by queries",
                                           "attention's gradients by keys"};

Tolerance tolerance_of(DType dtype) {
  return dtype == DType::float16 ? Tolerance{4e-3, 4e-3}
         : is_half(dtype)        ? Tolerance{3e-2, 3e-2}
                                 : Tolerance{2e-6, 1e-5};
}

/// Operands of attention, in the order of with_gradients; with a mask of this shape, unless it has no axes.
std::vector<Tensor> draw(const Heads& heads, DType dtype, const Shape& mask = {}) {
  Random random = draws(9);
  std::vector<Tensor> x;
  for (const Shape& shape : heads.shapes()) x.push_back(random_tensor(random, shape, dtype));
  x.push_back(random_tensor(random, {heads.batch, heads.queries, heads.heads, heads.width}, dtype));
  if (mask.rank() > 0) x.push_back(random_tensor(random, mask, DType::boolean, 0, 2));
  return x;
}

std::vector<Tensor> results_of(Device& device, std::span<const Tensor> x, double scale = 0.5) {
  return evaluate(device, x, [&](Values v) { return with_gradients(v, scale); });
}

void check_like_processor(Gpu& gpu, std::span<const Tensor> x, double scale = 0.5) {
  gpu.names().clear();
  const std::vector<Tensor> got = results_of(gpu.device, x, scale), want = results_of(cpu_device(), x, scale);
  CHECK(gpu.names() == all_kernels);
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("result " << i);
    CHECK(difference(got[i], want[i], tolerance_of(x[0].dtype())) == "");
  }
}

}  // namespace

TEST_CASE("attention by its own kernels, and its gradients, match the processor", "[cuda][attention]") {
  Gpu gpu;
  for (const Heads& heads : {Heads{}, Heads{.batch = 1, .queries = 1, .keys = 2, .heads = 2, .depth = 1, .width = 1},
                             Heads{.batch = 1, .queries = 1, .keys = 70, .heads = 1, .depth = 5, .width = 3},
                             Heads{.batch = 1, .queries = 70, .keys = 3, .heads = 1, .depth = 3, .width = 9},
                             Heads{.batch = 2, .queries = 32, .keys = 64, .heads = 2, .depth = 16, .width = 16},
                             Heads{.batch = 1, .queries = 33, .keys = 65, .heads = 2, .depth = 17, .width = 35},
                             Heads{.batch = 1, .queries = 40, .keys = 31, .heads = 1, .depth = 64, .width = 62},
                             Heads{.batch = 1, .queries = 17, .keys = 33, .heads = 2, .depth = 65, .width = 6},
                             Heads{.batch = 1, .queries = 20, .keys = 18, .heads = 1, .depth = 128, .width = 127}})
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      INFO(heads.batch << ' ' << heads.queries << ' ' << heads.keys << ' ' << heads.heads << ' ' << heads.depth << ' '
                       << heads.width << ", " << dtype);
      check_like_processor(gpu, draw(heads, dtype));
    }
}

TEST_CASE("attention by its own kernels accepts masks that broadcast", "[cuda][attention]") {
  Gpu gpu;
  const Heads heads{.batch = 2, .queries = 35, .keys = 40, .heads = 2, .depth = 6, .width = 5};
  for (const Shape& mask : std::vector<Shape>{{2, 2, 35, 40}, {2, 1, 35, 40}, {35, 40}, {2, 1, 1, 40}, {2, 1, 35, 1}})
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      INFO(mask << ", " << dtype);
      check_like_processor(gpu, draw(heads, dtype, mask));
    }
}

TEST_CASE("completely masked rows of scores are as before", "[cuda][attention]") {
  Gpu gpu;
  const Heads heads{.batch = 1, .queries = 4, .keys = 40, .heads = 1, .depth = 6, .width = 5};
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    INFO(dtype);
    std::vector<Tensor> x = draw(heads, dtype);
    x.push_back(Tensor({4, 1}, DType::boolean));
    x.back().data<bool>()[1] = true;
    check_like_processor(gpu, x);
  }
}

TEST_CASE("attention of infinite scores and of NaN is as before", "[cuda][attention]") {
  Gpu gpu;
  const Heads heads{.batch = 1, .queries = 3, .keys = 70, .heads = 1, .depth = 2, .width = 3};
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float special : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()})
    for (const std::size_t place : {std::size_t{0}, std::size_t{138}}) {
      INFO(special << " at " << place);
      std::vector<Tensor> x = draw(heads, DType::float32);
      for (float& number : x[0].data<float>()) number = std::abs(number) + 0.1f;
      x[1].data<float>()[place] = special;
      check_like_processor(gpu, x);
    }
  // A first tile of keys whose scores are all -∞.
  std::vector<Tensor> x = draw(heads, DType::float32);
  for (float& number : x[0].data<float>()) number = std::abs(number) + 0.1f;
  for (std::size_t i = 0; i < 64; ++i) x[1].data<float>()[2 * i] = -infinity;
  const auto forward = [](Values v) { return attend(v[0], v[1], v[2]).output; };
  CHECK(difference(run_on(gpu.device, x, forward), run_on(cpu_device(), x, forward), {2e-6, 1e-5}) == "");
}

TEST_CASE("gradients that are not needed are not computed", "[cuda][attention]") {
  Gpu gpu;
  const std::vector<Tensor> x = draw({}, DType::float32);
  const std::vector<Tensor> want = results_of(cpu_device(), x);
  for (std::size_t wanted = 1; wanted < 8; ++wanted) {
    const auto some = [&](Values v) {
      const std::vector<Value> all = with_gradients(v, 0.5);
      std::vector<Value> results{all[0]};
      for (std::size_t i = 0; i < 3; ++i)
        if (wanted >> i & 1) results.push_back(all[i + 1]);
      return results;
    };
    INFO(wanted);
    gpu.names().clear();
    const std::vector<Tensor> got = evaluate(gpu.device, x, some);
    CHECK(gpu.names().size() == (wanted == 1 ? 2 : 3));
    for (std::size_t i = 0, next = 1; i < 3; ++i)
      if (wanted >> i & 1) CHECK(difference(got[next++], want[i + 1], {2e-6, 1e-5}) == "");
  }
}

TEST_CASE("attention gives the same bits each time, for any order of blocks", "[cuda][attention]") {
  const Heads heads{.batch = 2, .queries = 45, .keys = 70, .heads = 2, .depth = 9, .width = 5};
  const std::vector<Tensor> x = draw(heads, DType::float32);
  std::vector<std::vector<Tensor>> results;
  for (const bool first_block_first : {false, true}) {
    auto runtime = std::make_unique<HostRuntime>(true);
    runtime->first_block_first = first_block_first;
    Cuda device("/gpu:0", std::move(runtime));
    results.push_back(results_of(device, x));
  }
  for (std::size_t i = 0; i < 4; ++i) CHECK(same_bits(results[0][i], results[1][i]));
}

TEST_CASE("a GPU attends if that saves more time than its kernels lose", "[cuda][attention]") {
  Gpu none(false);
  Cuda usual("/gpu:0", std::make_unique<HostRuntime>());
  const auto shape = [](std::int64_t batch, std::int64_t queries, std::int64_t keys, std::int64_t dim,
                        DType dtype = DType::float32) {
    return instruction::AttentionShape{
        .batch = {batch}, .queries = queries, .keys = keys, .depth = dim, .width = dim, .dtype = dtype};
  };
  CHECK(usual.attends(shape(128, 28, 28, 16)));
  CHECK_FALSE(none.device.attends(shape(128, 28, 28, 16)));
  CHECK(usual.attends(shape(8, 512, 512, 64)));
  CHECK_FALSE(usual.attends(shape(8, 512, 512, 65)));
  CHECK(usual.attends(shape(8, 512, 512, 32, DType::bfloat16)));
  CHECK_FALSE(usual.attends(shape(8, 512, 512, 64, DType::bfloat16)));  // a vendor's products are faster
  CHECK_FALSE(usual.attends(shape(8, 512, 512, 16, DType::float64)));
  CHECK_FALSE(usual.attends(shape(1, 1, 4096, 64)));  // one block would read all keys
  CHECK(usual.attends(shape(8, 1, 4096, 64)));
  CHECK_FALSE(usual.attends(shape(0, 4, 4, 4)));
  CHECK_FALSE(usual.attends(shape(2, 4, 0, 4)));
  Gpu all;
  CHECK(all.device.attends(shape(8, 512, 512, 128)));
  CHECK_FALSE(all.device.attends(shape(8, 512, 512, 129)));
}

TEST_CASE("MultiHeadAttention on a GPU matches the processor", "[cuda][attention][layers]") {
  Gpu gpu;
  Random random = draws(4);
  const std::vector<Tensor> rows{random_tensor(random, {2, 9, 6}, DType::float32),
                                 random_tensor(random, {2, 7, 4}, DType::float32)},
      images{random_tensor(random, {2, 3, 4, 6}, DType::float32), random_tensor(random, {2, 5, 2, 4}, DType::float32)};
  for (const bool bias : {true, false})
    for (const std::vector<Tensor>& x : {rows, images}) {
      INFO("bias " << bias << ", rank " << x[0].shape().rank());
      const auto layer = layers::multi_head_attention({.num_heads = 2, .key_dim = 3, .value_dim = 5, .use_bias = bias});
      const auto trained = [&](Values v) {
        const Value y = layer->attend({.query = v[0], .value = v[1]}).output;
        std::vector<Value> results = gradients(ops::sum(ops::square(y)), layer->trainable_variables());
        results.push_back(y);
        return results;
      };
      const std::vector<Tensor> want = evaluate(cpu_device(), x, trained);
      gpu.names().clear();
      const std::vector<Tensor> got = evaluate(gpu.device, x, trained);
      for (const std::string& name : all_kernels) CHECK(std::ranges::count(gpu.names(), name) == 1);
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(difference(got[i], want[i], {1e-5, 1e-5}) == "");
    }
}

TEST_CASE("MultiHeadAttention reads heads in place, and explain shows it", "[cuda][attention][explain]") {
  Random random = draws(3);
  const std::vector<Tensor> x{random_tensor(random, {2, 9, 6}, DType::float32)};
  for (const char* dtype : {"float32", "mixed_float16", "mixed_bfloat16"}) {
    INFO(dtype);
    Gpu gpu;
    const auto layer = layers::multi_head_attention({.num_heads = 2, .key_dim = 3, .dtype = dtype});
    const auto both = [&](Values v) {
      const Value y = layer->attend({.query = v[0], .value = v[0], .use_causal_mask = true}).output;
      return std::vector{y, gradients(ops::sum(ops::square(ops::cast(y, DType::float32))), v)[0]};
    };
    evaluate(gpu.device, x, both);
    CHECK(gpu.names() == all_kernels);  // and no Transpose
    if (std::string_view(dtype) != "float32") continue;
    Compiled step(x, [&](Graph&, Values v) { return Compiled::Outcome{both(v), {}}; }, gpu.device);
    const std::string text = explain(step.plan());
    CHECK_THAT(text, ContainsSubstring("Attention 9×9×3×3 of 4, masked"));
    CHECK_THAT(text, ContainsSubstring("AttentionGradient 9×9×3×3 of 4, masked"));
  }
}
