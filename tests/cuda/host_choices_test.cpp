#include <catch2/catch_test_macros.hpp>

#include "cuda/cublas_lt.hpp"
#include "etude/base/memory_vfs.hpp"
#include "host_cublas_lt.hpp"
#include "support.hpp"

// The choice of cuBLASLt's algorithms, with a fake cuBLASLt, whose algorithms take as long as a test sets.

namespace etude {
namespace {

using cuda::Choices;
using cuda::Chooser;
using cuda::CublasLt;
using cuda::MatrixProduct;
using testing::host_cublas_lt::Algorithm;
using testing::host_cublas_lt::library;

constexpr int no_memory = 3, failed_on_gpu = 13, not_supported = 15;

/// A process that multiplies on a GPU.
struct Process {
  explicit Process(std::shared_ptr<Choices> choices)
      : chooser(
            std::move(choices),
            [](const Chooser::Work& work) {
              const int before = library().milliseconds;
              return work() ? std::optional<double>(library().milliseconds - before) : std::nullopt;
            },
            [this] { return !records; }) {}
  explicit Process(const std::shared_ptr<Vfs>& files) : Process(std::make_shared<Choices>("GPU", files, "c")) {}

  MatrixProduct product(std::int64_t n, std::byte* a, std::byte* b, std::byte* c) {
    return {DType::float32, 2, n, 4, 1, {a, 4, false, 0}, {b, n, false, 0}, {c, n, false, 0}, workspace.data()};
  }
  /// The algorithms by which the product of a kind was computed; the last one is the product's own, the others were
  /// measured. None if the library does not support the product.
  std::vector<std::uint64_t> multiply(std::int64_t n = 3) {
    library().multiplied.clear();
    std::vector<float> a(8, 2), b(static_cast<std::size_t>(4 * n), 3), c(static_cast<std::size_t>(2 * n));
    const auto at = [](std::vector<float>& of) { return reinterpret_cast<std::byte*>(of.data()); };
    const bool computed = products.multiply(product(n, at(a), at(b), at(c)), nullptr);
    CHECK(computed == (c == std::vector<float>(c.size(), 24)));
    CHECK(computed == !library().multiplied.empty());
    return library().multiplied;
  }

  bool records = false;
  std::string explained;
  Chooser chooser;
  CublasLt products{testing::host_cublas_lt::functions(), false,
                    [this](const char* what, bool memory) { explained += what + std::string(memory ? "!" : "."); },
                    &chooser};
  std::vector<std::byte> workspace = std::vector<std::byte>(CublasLt::workspace_bytes);
};

/// A library with these algorithms, until the end of a test.
struct Algorithms {
  explicit Algorithms(std::vector<Algorithm> algorithms) { library() = {.algorithms = std::move(algorithms)}; }
  ~Algorithms() { library() = {.queue = library().queue}; }
};

using Identifiers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a product is computed by the fastest of the algorithms that cuBLASLt advises, which are measured once",
          "[cuda][choices]") {
  const Algorithms all({{1, 5}, {2, 2}, {3, 7}, {4, 2}});
  Process process(std::make_shared<MemoryVfs>());
  CHECK(process.multiply() == Identifiers{1, 2, 3, 4, 2});
  CHECK(process.multiply() == Identifiers{2});
  CHECK(process.multiply(5) == Identifiers{1, 2, 3, 4, 2});  // another kind
  CHECK(process.multiply(5) == Identifiers{2});
  CHECK(library().asked == 2);
}

TEST_CASE("at most eight algorithms are measured", "[cuda][choices]") {
  std::vector<Algorithm> many;
  for (std::uint64_t i = 1; i <= 20; ++i) many.push_back({i, static_cast<int>(30 - i)});
  const Algorithms all(many);
  CHECK(Process(std::make_shared<MemoryVfs>()).multiply() == Identifiers{1, 2, 3, 4, 5, 6, 7, 8, 8});
}

TEST_CASE("a single algorithm is not measured, and not kept for later processes", "[cuda][choices]") {
  const Algorithms all(std::vector{Algorithm{7}});
  const auto files = std::make_shared<MemoryVfs>();
  CHECK(Process(files).multiply() == Identifiers{7});
  CHECK_FALSE(files->exists("c"));
}

TEST_CASE("a later process computes a product by the algorithm that an earlier one chose, and measures nothing",
          "[cuda][choices]") {
  const Algorithms all({{1, 5}, {2, 2}});
  const auto files = std::make_shared<MemoryVfs>();
  CHECK(Process(files).multiply() == Identifiers{1, 2, 2});
  library().algorithms = {{1, 1}, {2, 9}};  // its own choice would differ now
  CHECK(Process(files).multiply() == Identifiers{2});
  CHECK(library().asked == 1);
}

TEST_CASE("GPUs of one model in a process compute by the same algorithm", "[cuda][choices]") {
  const Algorithms all({{1, 5}, {2, 2}});
  const auto choices = std::make_shared<Choices>("GPU");
  Process one(choices), other(choices);
  CHECK(one.multiply() == Identifiers{1, 2, 2});
  library().algorithms = {{1, 1}, {2, 9}};
  CHECK(other.multiply() == Identifiers{2});
}

TEST_CASE("an algorithm of an earlier process that cuBLASLt refuses is measured again, and replaced",
          "[cuda][choices]") {
  const Algorithms all({{1, 5}, {2, 2}, {3, 4}});
  const auto files = std::make_shared<MemoryVfs>();
  CHECK(Process(files).multiply() == Identifiers{1, 2, 3, 2});
  library().algorithms = {{1, 5}, {3, 4}, {2, 2, not_supported, false}};
  CHECK(Process(files).multiply() == Identifiers{1, 3, 3});
  CHECK(Process(files).multiply() == Identifiers{3});
}

TEST_CASE("a choice that is not an algorithm is measured again", "[cuda][choices]") {
  const Algorithms all({{1, 5}, {2, 2}});
  const auto files = std::make_shared<MemoryVfs>();
  Process(files).multiply();
  const std::string path = "c/" + files->list("c").front();
  cuda::CacheFolder folder(files, "c", ".choices", 64);
  const std::string sound = folder.read("GPU").value();
  const std::size_t tab = sound.find('\t');
  for (const std::string& choice : {std::string(), std::string("ours"), std::string(128, 'x'), std::string(127, '0')}) {
    CAPTURE(choice);
    folder.write("GPU", sound.substr(0, tab + 1) + choice + '\n');
    CHECK(Process(files).multiply() == Identifiers{1, 2, 2});
    CHECK(folder.read("GPU") == sound);
  }
}

TEST_CASE("while work is recorded, a new product uses cuBLASLt's first advice, for this process only",
          "[cuda][choices]") {
  const Algorithms all({{1, 5}, {2, 2}});
  const auto files = std::make_shared<MemoryVfs>();
  Process process(files);
  process.records = true;
  CHECK(process.multiply() == Identifiers{1});
  process.records = false;
  CHECK(process.multiply() == Identifiers{1});
  CHECK(Process(files).multiply() == Identifiers{1, 2, 2});
}

TEST_CASE("algorithms that fail when they are measured are skipped", "[cuda][choices]") {
  const Algorithms all({{1, 1, not_supported}, {2, 1, failed_on_gpu}, {3, 6}, {4, 5}});
  Process process(std::make_shared<MemoryVfs>());
  CHECK(process.multiply() == Identifiers{3, 4, 4});
  CHECK(process.explained == "a product.a product.");  // it was checked whether the GPU is lost
}

TEST_CASE("cuBLASLt does not compute a product if all algorithms are unsupported; another failure of all is an error",
          "[cuda][choices]") {
  const Algorithms all({{1, 1, not_supported}, {2, 1, not_supported}});
  Process process(std::make_shared<MemoryVfs>());
  CHECK(process.multiply().empty());
  CHECK(process.multiply().empty());
  CHECK(library().asked == 1);
  library().algorithms[1].status = failed_on_gpu;
  CHECK(testing::kind_of([&] { process.multiply(5); }) == ErrorKind::internal);
  library().algorithms = {{1, 5}, {2, 2}};
  CHECK(process.multiply(5) == Identifiers{1, 2, 2});
}

TEST_CASE("lack of memory while algorithms are measured is an Error, and the next product measures them",
          "[cuda][choices]") {
  const Algorithms all({{1, 5}, {2, 2, no_memory}});
  const auto files = std::make_shared<MemoryVfs>();
  Process process(files);
  CHECK(testing::kind_of([&] { process.multiply(); }) == ErrorKind::state);
  CHECK(process.explained == "a product!");
  CHECK_FALSE(files->exists("c"));
  library().algorithms[1].status = 0;
  CHECK(process.multiply() == Identifiers{1, 2, 2});
}

TEST_CASE("possible() neither measures nor chooses an algorithm", "[cuda][choices]") {
  const Algorithms all({{1, 5}, {2, 2}});
  Process process(std::make_shared<MemoryVfs>());
  const MatrixProduct product = process.product(3, nullptr, nullptr, nullptr);
  CHECK(process.products.possible(product));
  CHECK(library().multiplied.empty());
  CHECK(process.multiply() == Identifiers{1, 2, 2});
  library().knows = false;
  CHECK_FALSE(process.products.possible(process.product(5, nullptr, nullptr, nullptr)));
}

}  // namespace etude
