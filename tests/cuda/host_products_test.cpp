#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "cuda/cublas_lt.hpp"
#include "cuda/cuda.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/shape.hpp"
#include "host_runtime.hpp"
#include "op_entries.hpp"
#include "runtime_under_test.hpp"

// Products that a GPU's vendor computes: what class Cuda asks of it, and how that is said to cuBLASLt. On the host
// alone: a GPU's own runtime has the library itself.

using namespace etude;
using namespace etude::testing;

namespace {

using cuda::CublasLt;
using cuda::MatrixProduct;

/// A GPU whose vendor multiplies, whatever there is to multiply.
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

// ---- cuBLASLt, played on the host: by what NVIDIA documents of its functions and attributes ----

struct Attributes {
  std::map<int, std::vector<std::byte>> set;
  template <class T> T value(int attribute, T otherwise) const {
    const auto found = set.find(attribute);
    if (found == set.end()) return otherwise;
    REQUIRE(found->second.size() == sizeof(T));
    std::memcpy(&otherwise, found->second.data(), sizeof(T));
    return otherwise;
  }
};
int keep(Attributes& attributes, int attribute, const void* value, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(value);
  attributes.set[attribute].assign(first, first + bytes);
  return 0;
}

struct Described : Attributes {
  int compute = 0, scale = 0;
};
struct Laid : Attributes {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t distance = 0;
};

/// What is alive, how often an algorithm was asked for, and whether there is one.
struct Library {
  std::set<void*> alive;
  int asked = 0;
  bool knows = true;
} library;

template <class Of, class Pointer> Of& as(Pointer pointer) {
  REQUIRE(library.alive.contains(pointer));
  return *reinterpret_cast<Of*>(pointer);
}
template <class Of, class Pointer> int made(Pointer* pointer, Of* object) {
  *pointer = reinterpret_cast<Pointer>(object);
  library.alive.insert(object);
  return 0;
}
template <class Of, class Pointer> int destroyed(Pointer pointer) {
  delete &as<Of>(pointer);
  library.alive.erase(pointer);
  return 0;
}

/// By columns: element (row, column) of op(matrix).
template <class T> double element(const void* data, const Laid& layout, bool transposed, std::int64_t matrix,
                                  std::int64_t row, std::int64_t column) {
  if (transposed) std::swap(row, column);
  REQUIRE(row < static_cast<std::int64_t>(layout.rows));
  REQUIRE(column < static_cast<std::int64_t>(layout.columns));
  return static_cast<double>(
      static_cast<const T*>(data)[matrix * layout.value(6, std::int64_t{0}) + column * layout.distance + row]);
}

const CublasLt::Functions on_host{
    .create = [](CublasLt::Handle* handle) { return made(handle, new Attributes); },
    .destroy = [](CublasLt::Handle handle) { return destroyed<Attributes>(handle); },
    .create_description =
        [](CublasLt::Description* description, int compute, int scale) {
          auto* described = new Described;
          described->compute = compute;
          described->scale = scale;
          return made(description, described);
        },
    .destroy_description = [](CublasLt::Description description) { return destroyed<Described>(description); },
    .set_of_description = [](CublasLt::Description description, int attribute, const void* value,
                             std::size_t bytes) { return keep(as<Described>(description), attribute, value, bytes); },
    .create_layout =
        [](CublasLt::Layout* layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t distance) {
          REQUIRE(distance >= static_cast<std::int64_t>(rows));
          auto* laid = new Laid;
          laid->type = type;
          laid->rows = rows;
          laid->columns = columns;
          laid->distance = distance;
          return made(layout, laid);
        },
    .destroy_layout = [](CublasLt::Layout layout) { return destroyed<Laid>(layout); },
    .set_of_layout = [](CublasLt::Layout layout, int attribute, const void* value,
                        std::size_t bytes) { return keep(as<Laid>(layout), attribute, value, bytes); },
    .create_preference = [](CublasLt::Preference* preference) { return made(preference, new Attributes); },
    .destroy_preference = [](CublasLt::Preference preference) { return destroyed<Attributes>(preference); },
    .set_of_preference = [](CublasLt::Preference preference, int attribute, const void* value,
                            std::size_t bytes) { return keep(as<Attributes>(preference), attribute, value, bytes); },
    .find =
        [](CublasLt::Handle, CublasLt::Description, CublasLt::Layout, CublasLt::Layout, CublasLt::Layout,
           CublasLt::Layout, CublasLt::Preference preference, int, CublasLt::Found* found, int* count) {
          ++library.asked;
          const Attributes& wish = as<Attributes>(preference);
          CHECK(wish.value(1, std::uint64_t{0}) == CublasLt::workspace_bytes - 256);
          CHECK(wish.value(3, std::uint32_t{7}) == 2);  // partial sums in float32, too
          for (int of : {5, 6, 7, 8}) CHECK(16 % wish.value(of, std::uint32_t{256}) == 0);
          found->algorithm.data[0] = 42;
          *count = library.knows;
          return library.knows ? 0 : 15;
        },
    .multiply =
        [](CublasLt::Handle, CublasLt::Description description, const void* alpha, const void* a,
           CublasLt::Layout a_layout, const void* b, CublasLt::Layout b_layout, const void* beta, const void* c,
           CublasLt::Layout c_layout, void* d, CublasLt::Layout d_layout, const CublasLt::Algorithm* algorithm,
           void* workspace, std::size_t workspace_bytes, CUstream_st*) {
          const Described& of = as<Described>(description);
          const Laid &la = as<Laid>(a_layout), &lb = as<Laid>(b_layout), &ld = as<Laid>(d_layout);
          CHECK(algorithm->data[0] == 42);
          CHECK(reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0);
          CHECK(workspace_bytes == CublasLt::workspace_bytes - 256);
          constexpr std::size_t margin = 65536;  // NaN for whoever has something there
          std::memset(workspace, 0xff, margin);
          std::memset(static_cast<std::byte*>(workspace) + workspace_bytes - margin, 0xff, margin);
          CHECK(c == d);
          CHECK(c_layout == d_layout);
          const bool ta = of.value(3, std::int32_t{0}) == 1, tb = of.value(4, std::int32_t{0}) == 1;
          const auto epilogue = of.value(7, std::uint32_t{1});
          const void* const bias = of.value(8, static_cast<const void*>(nullptr));
          CHECK(epilogue == (bias ? 4 : 1));
          const std::uint64_t depth = ta ? la.rows : la.columns;
          CHECK(depth == (tb ? lb.columns : lb.rows));
          const auto go = [&]<class T, class Scale>(T, Scale) {
            CHECK(*static_cast<const Scale*>(alpha) == 1);
            CHECK(*static_cast<const Scale*>(beta) == 0);
            for (std::int64_t matrix = 0; matrix < ld.value(5, std::int32_t{1}); ++matrix)
              for (std::int64_t row = 0; row < static_cast<std::int64_t>(ld.rows); ++row)
                for (std::int64_t column = 0; column < static_cast<std::int64_t>(ld.columns); ++column) {
                  double sum = bias ? static_cast<double>(static_cast<const T*>(bias)[row]) : 0;
                  for (std::int64_t i = 0; i < static_cast<std::int64_t>(depth); ++i)
                    sum += element<T>(a, la, ta, matrix, row, i) * element<T>(b, lb, tb, matrix, i, column);
                  static_cast<T*>(d)[matrix * ld.value(6, std::int64_t{0}) + column * ld.distance + row] =
                      static_cast<T>(sum);
                }
          };
          CHECK(la.type == ld.type);
          CHECK(lb.type == ld.type);
          if (ld.type == 0 && (of.compute == 68 || of.compute == 77) && of.scale == 0) return go(float{}, float{}), 0;
          if (ld.type == 1 && of.compute == 70 && of.scale == 1) return go(double{}, double{}), 0;
          if (ld.type == 2 && of.compute == 68 && of.scale == 0) return go(Float16{}, float{}), 0;
          if (ld.type == 14 && of.compute == 68 && of.scale == 0) return go(BFloat16{}, float{}), 0;
          return 7;
        }};

/// The same GPU, which asks cuBLASLt.
class CublasRuntime : public HostRuntime {
 public:
  explicit CublasRuntime(bool tf32 = false) : HostRuntime(true), products_(on_host, tf32) {}
  std::size_t product_workspace() const override { return CublasLt::workspace_bytes; }
  bool multiply(const MatrixProduct& product) override { return products_.multiply(product, nullptr); }

 private:
  CublasLt products_;
};

/// Uses of products, of which each row is written, and read, in its own way.
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

TEST_CASE("products that a GPU's vendor computes are those of the processor", "[cuda][products]") {
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

TEST_CASE("what little there is to multiply, the program does that goes on with it", "[cuda][products]") {
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

TEST_CASE("much that is to be multiplied is left to the vendor", "[cuda][products]") {
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
  CHECK(by_vendor({64, 256}, {64, 256}, true));   // neighbours read rows of b that lie apart
  CHECK_FALSE(by_vendor({64, 64}, {64, 64}, true));
}

TEST_CASE("convolutions are products of patches that are laid out, where a GPU's vendor multiplies",
          "[cuda][products]") {
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

TEST_CASE("what a GPU's vendor has no way of computing, our kernels do", "[cuda][products]") {
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

TEST_CASE("cuBLASLt is asked for the products that are meant", "[cuda][products]") {
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
  CHECK(library.alive.empty());
}

TEST_CASE("how cuBLASLt computes a product is asked once", "[cuda][products]") {
  CublasRuntime runtime;
  std::byte* memory = runtime.allocate(4096 + CublasLt::workspace_bytes);
  const auto product = [&](std::int64_t n) {
    return MatrixProduct{
        DType::float32, 2, n, 4, 1, {memory, 4, false, 0}, {memory + 1024, n, false, 0}, {memory + 2048, n, false, 0},
        memory + 4096};
  };
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

TEST_CASE("factors are rounded to TF32 only where that is wished", "[cuda][products]") {
  for (const bool tf32 : {false, true}) {
    static int compute;
    CublasLt::Functions noting = on_host;
    noting.create_description = [](CublasLt::Description* description, int of, int scale) {
      compute = of;
      return on_host.create_description(description, of, scale);
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
