#include <catch2/catch_test_macros.hpp>

#include "cuda/cublas_lt.hpp"
#include "cuda/cuda.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/shape.hpp"
#include "host_cublas_lt.hpp"
#include "host_runtime.hpp"
#include "op_entries.hpp"
#include "runtime_under_test.hpp"

// Products that a GPU's vendor computes: the requests of class Cuda, and their translation for cuBLASLt. Only on the
// host: a GPU's own runtime uses the library itself.

using namespace etude;
using namespace etude::testing;

namespace {

using cuda::CublasLt;
using cuda::MatrixProduct;

/// A GPU whose vendor computes all products.
struct Gpu {
  Cuda device{
      "/gpu:0", std::make_unique<CountingRuntime>(std::make_unique<HostRuntime>(true)), {.most_work_of_programs = 0}};
  CountingRuntime::Counts& counts() { return static_cast<CountingRuntime&>(device.runtime()).counts; }
};

constexpr std::array floats{DType::float32, DType::float64, DType::float16, DType::bfloat16};

Tolerance tolerance_of(DType dtype) {
  return is_half(dtype)            ? Tolerance{2e-2, 2e-2}
         : dtype == DType::float64 ? Tolerance{1e-13, 1e-12}
                                   : Tolerance{2e-6, 1e-5};
}

/// The same GPU with cuBLASLt.
class CublasRuntime : public HostRuntime {
 public:
  explicit CublasRuntime(bool tf32 = false) : HostRuntime(true), products_(host_cublas_lt::functions(), tf32) {}
  std::size_t product_workspace() const override { return CublasLt::workspace_bytes; }
  bool multiply(const MatrixProduct& product) override { return products_.multiply(product, nullptr); }

 private:
  CublasLt products_;
};

/// Uses of products; the rows of each are written, and read, differently.
const std::vector<OpCase> products{
    {"[m, k] [k, n]", {number({5, 7}), number({7, 3})}, [](Values x) { return ops::matmul(x[0], x[1]); }},
    {"[k, m] [k, n]", {number({7, 5}), number({7, 3})}, [](Values x) { return ops::matmul(x[0], x[1], true, false); }},
    {"[m, k] [n, k]", {number({5, 7}), number({3, 7})}, [](Values x) { return ops::matmul(x[0], x[1], false, true); }},
    {"[k, m] [n, k]", {number({7, 5}), number({3, 7})}, [](Values x) { return ops::matmul(x[0], x[1], true, true); }},
    {"a batch", {number({4, 5, 7}), number({4, 7, 3})}, [](Values x) { return ops::matmul(x[0], x[1]); }},
    {"two batches", {number({2, 3, 5, 7}), number({2, 3, 7, 3})}, [](Values x) { return ops::matmul(x[0], x[1]); }},
    {"one matrix for all", {number({4, 5, 7}), number({1, 7, 3})}, [](Values x) { return ops::matmul(x[0], x[1]); }},
    {"heads",
     {number({2, 5, 3, 4}), number({2, 6, 3, 4})},
     [](Values x) {
       const Value scores =
           ops::matmul(ops::transpose(x[0], {0, 2, 1, 3}), ops::transpose(x[1], {0, 2, 1, 3}), false, true);
       return ops::transpose(ops::matmul(scores, ops::transpose(x[1], {0, 2, 1, 3})), {0, 2, 1, 3});
     }},
    {"more heads than calls",
     {number({18, 5, 19, 2})},
     [](Values x) {
       const Value heads = ops::transpose(x[0], {0, 2, 1, 3});
       return ops::matmul(heads, heads, false, true);
     }},
    {"an epilogue",
     {number({5, 7}), number({7, 3}), number({3})},
     [](Values x) { return ops::relu(ops::matmul(x[0], x[1]) + x[2]); }},
    {"a bias", {number({5, 7}), number({7, 3}), number({3})}, [](Values x) { return ops::matmul(x[0], x[1]) + x[2]; }},
    {"a bias before",
     {number({5, 7}), number({3, 7}), number({3})},
     [](Values x) { return x[2] + ops::matmul(x[0], x[1], false, true); }},
    {"a bias of rows",
     {number({3, 7}), number({7, 3}), number({3, 1})},
     [](Values x) { return ops::matmul(x[0], x[1]) + x[2]; }},
    {"a product and itself",
     {number({3, 7}), number({7, 3})},
     [](Values x) {
       const Value product = ops::matmul(x[0], x[1]);
       return product + product;
     }},
    {"two biases",
     {number({3, 7}), number({7, 3}), number({3}), number({3})},
     [](Values x) { return ops::matmul(x[0], x[1]) + x[2] + x[3]; }},
    {"fours", {number({5, 8}), number({3, 8})}, [](Values x) { return ops::matmul(x[0], x[1], false, true); }},
    {"a softmax",
     {number({5, 7}), number({7, 3}), number({3})},
     [](Values x) { return ops::softmax(ops::matmul(x[0], x[1]) + x[2]); }},
    {"a product that others read",
     {number({5, 7}), number({7, 3})},
     [](Values x) {
       const Value product = ops::matmul(x[0], x[1]);
       return ops::matmul(ops::tanh(product), product, true, false);
     }},
    {"a row", {number({1, 7}), number({7, 3})}, [](Values x) { return ops::matmul(x[0], x[1]); }},
};

}  // namespace

TEST_CASE("products of a GPU's vendor match the processor", "[cuda][products]") {
  Gpu gpu;
  for (const OpCase& one : products)
    for (const DType dtype : floats) {
      INFO(one.name << ", " << dtype);
      const std::vector<Tensor> x = one.draw(6, dtype);
      CHECK(difference(run_on(gpu.device, x, one.function), run_on(cpu_device(), x, one.function),
                       tolerance_of(dtype)) == "");
    }
  CHECK(gpu.counts().products > 0);
}

TEST_CASE("small products are computed by the program that reads them", "[cuda][products]") {
  Cuda gpu("/gpu:0", std::make_unique<CountingRuntime>(std::make_unique<HostRuntime>(true)));
  CountingRuntime::Counts& counts = static_cast<CountingRuntime&>(gpu.runtime()).counts;
  for (const OpCase& one : products)
    for (const DType dtype : floats) {
      INFO(one.name << ", " << dtype);
      counts = {};
      const std::vector<Tensor> x = one.draw(6, dtype);
      CHECK(difference(run_on(gpu, x, one.function), run_on(cpu_device(), x, one.function), tolerance_of(dtype)) == "");
      CHECK(counts.products + counts.kernels == 0);
      CHECK(counts.programs == (one.name == "heads" || one.name == "a product that others read" ? 2 : 1));
    }
}

TEST_CASE("large products are computed by the vendor", "[cuda][products]") {
  Cuda gpu("/gpu:0", std::make_unique<CountingRuntime>(std::make_unique<HostRuntime>(true)));
  CountingRuntime::Counts& counts = static_cast<CountingRuntime&>(gpu.runtime()).counts;
  const auto by_vendor = [&](const Shape& a, const Shape& b, bool transpose_b) {
    counts = {};
    const std::vector<Tensor> x{Tensor(a), Tensor(b)};
    run_on(gpu, x, [=](Values v) { return ops::matmul(v[0], v[1], false, transpose_b); });
    return counts.products == 1;
  };
  CHECK_FALSE(by_vendor({64, 64}, {64, 256}, false));
  CHECK_FALSE(by_vendor({64, 128}, {128, 8}, false));
  CHECK(by_vendor({64, 129}, {129, 8}, false));   // too deep
  CHECK(by_vendor({256, 64}, {64, 512}, false));  // too large
  CHECK(by_vendor({64, 256}, {64, 256}, true));   // neighbours read distant rows of b
  CHECK_FALSE(by_vendor({64, 64}, {64, 64}, true));
}

TEST_CASE("convolutions are products of laid-out patches, if a GPU's vendor multiplies", "[cuda][products]") {
  for (const OpEntry& entry : op_table()) {
    if (!entry.name.starts_with("Convolution")) continue;
    Gpu gpu;
    for (const OpCase& one : entry.cases)
      for (const DType dtype : floats) {
        INFO(one.name << ", " << dtype);
        const std::vector<Tensor> x = one.draw(6, dtype);
        CHECK(difference(run_on(gpu.device, x, one.function), run_on(cpu_device(), x, one.function),
                         tolerance_of(dtype)) == "");
      }
    INFO(entry.name);
    CHECK(gpu.counts().products >= static_cast<int>(floats.size()));
  }
}

TEST_CASE("our kernels compute products that a GPU's vendor does not support", "[cuda][products]") {
  const auto computed = [](const char* name, DType dtype = DType::float32) {
    Gpu gpu;
    for (const OpCase& one : products)
      if (one.name == name) run_on(gpu.device, one.draw(6, dtype), one.function);
    return std::array{gpu.counts().products, gpu.counts().kernels, gpu.counts().programs};
  };
  CHECK(computed("a batch") == std::array{1, 0, 0});
  CHECK(computed("two batches") == std::array{1, 0, 0});
  CHECK(computed("a row") == std::array{0, 1, 0});
  CHECK(computed("more heads than calls") == std::array{0, 1, 0});
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    CHECK(computed("a bias", dtype) == std::array{1, 0, 0});
    CHECK(computed("a bias before", dtype) == std::array{1, 0, 0});
  }
  CHECK(computed("a bias", DType::float64) == std::array{1, 0, 1});
  CHECK(computed("a bias of rows") == std::array{1, 0, 1});
  CHECK(computed("a product and itself") == std::array{1, 0, 1});
}

TEST_CASE("cuBLASLt gets the correct products", "[cuda][products]") {
  {
    Cuda device("/gpu:0", std::make_unique<CublasRuntime>(), {.most_work_of_programs = 0});
    for (const OpEntry& entry : op_table()) {
      if (entry.name != "MatMul" && !entry.name.starts_with("Convolution")) continue;
      for (const OpCase& one : entry.cases) {
        INFO(one.name);
        const std::vector<Tensor> x = one.draw(7, DType::float32);
        CHECK(difference(run_on(device, x, one.function), run_on(cpu_device(), x, one.function),
                         tolerance_of(DType::float32)) == "");
      }
    }
    for (const OpCase& one : products)
      for (const DType dtype : floats) {
        INFO(one.name << ", " << dtype);
        const std::vector<Tensor> x = one.draw(6, dtype);
        CHECK(difference(run_on(device, x, one.function), run_on(cpu_device(), x, one.function), tolerance_of(dtype)) ==
              "");
      }
  }
  CHECK(host_cublas_lt::alive() == 0);
}

TEST_CASE("the algorithm of cuBLASLt for a product is requested once", "[cuda][products]") {
  CublasRuntime runtime;
  std::byte* memory = runtime.allocate(4096 + CublasLt::workspace_bytes);
  const auto product = [&](std::int64_t n) {
    return MatrixProduct{
        DType::float32, 2, n, 4, 1, {memory, 4, false, 0}, {memory + 1024, n, false, 0}, {memory + 2048, n, false, 0},
        memory + 4096};
  };
  host_cublas_lt::Library& library = host_cublas_lt::library();
  library.asked = 0;
  for (int i = 0; i < 3; ++i) CHECK(runtime.multiply(product(3)));
  CHECK(library.asked == 1);
  CHECK(runtime.multiply(product(5)));
  CHECK(library.asked == 2);
  library.knows = false;
  CHECK_FALSE(runtime.multiply(product(6)));
  CHECK_FALSE(runtime.multiply(product(6)));
  CHECK(library.asked == 3);
  library.knows = true;
  runtime.release(memory);
}

TEST_CASE("factors are rounded to TF32 only on request", "[cuda][products]") {
  for (const bool tf32 : {false, true}) {
    static int compute;
    CublasLt::Functions noting = host_cublas_lt::functions();
    noting.create_description = [](CublasLt::Description* description, int of, int scale) {
      compute = of;
      return host_cublas_lt::functions().create_description(description, of, scale);
    };
    std::vector<std::byte> memory(4096 + CublasLt::workspace_bytes);
    CublasLt products(noting, tf32);
    for (const auto& [dtype, wanted] :
         {std::pair{DType::float32, tf32 ? 77 : 68}, {DType::float64, 70}, {DType::bfloat16, 68}}) {
      CHECK(products.multiply({dtype,
                               2,
                               2,
                               2,
                               1,
                               {memory.data(), 2, false, 0},
                               {memory.data() + 64, 2, false, 0},
                               {memory.data() + 128, 2, false, 0},
                               memory.data() + 4096},
                              nullptr));
      CHECK(compute == wanted);
    }
  }
}

TEST_CASE("if cuBLASLt lacks memory, the GPU's error is reported, and the next product requests an algorithm again",
          "[cuda][products]") {
  static CublasLt::Status created, found;
  created = 0;
  found = 3;
  CublasLt::Functions functions = host_cublas_lt::functions();
  functions.create = [](CublasLt::Handle* handle) {
    return created != 0 ? created : host_cublas_lt::functions().create(handle);
  };
  functions.find = [](CublasLt::Handle handle, CublasLt::Description of, CublasLt::Layout a, CublasLt::Layout b,
                      CublasLt::Layout c, CublasLt::Layout d, CublasLt::Preference wish, int wanted,
                      CublasLt::Found* result, int* count) {
    const CublasLt::Status known =
        host_cublas_lt::functions().find(handle, of, a, b, c, d, wish, wanted, result, count);
    return found != 0 ? found : known;
  };
  std::string asked;
  const auto explain = [&](const char* what, bool no_memory) { asked += what + std::string(no_memory ? "!" : "."); };
  std::vector<std::byte> memory(4096 + CublasLt::workspace_bytes);
  {
    CublasLt products(functions, false, explain);
    const auto multiply = [&] {
      return products.multiply({DType::float32,
                                2,
                                2,
                                2,
                                1,
                                {memory.data(), 2, false, 0},
                                {memory.data() + 64, 2, false, 0},
                                {memory.data() + 128, 2, false, 0},
                                memory.data() + 4096},
                               nullptr);
    };
    CHECK(kind_of(multiply) == ErrorKind::state);
    found = 13;
    CHECK(kind_of(multiply) == ErrorKind::internal);
    CHECK(asked == "selecting an algorithm!selecting an algorithm.");
    found = 0;
    CHECK(multiply());
  }
  // An unsupported GPU is another error than lack of memory.
  asked.clear();
  created = 1;
  CHECK_THROWS_AS(CublasLt(functions, false, explain), CublasLt::Unusable);
  for (const auto& [status, kind] : {std::pair{3, ErrorKind::state}, {13, ErrorKind::internal}}) {
    created = status;
    try {
      CublasLt(functions, false, explain);
      FAIL("no error");
    } catch (const CublasLt::Unusable&) {
      FAIL("taken for a GPU that it does not know");
    } catch (const Error& error) {
      CHECK(error.kind() == kind);
    }
  }
  CHECK(asked == "opening cuBLASLt.opening cuBLASLt!opening cuBLASLt.");
  CHECK(host_cublas_lt::alive() == 0);
}
