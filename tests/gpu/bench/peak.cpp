// Prints a JSON line with what this machine's first GPU can do: GFLOP/s of its vendor's products, GB/s of a copy, which
// reads and writes, microseconds from one launch of a graph to the next, and of each further kernel in it. Floors are
// computed from it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/cuda.hpp"
#include "cuda/gpu_runtime.hpp"
#include "cuda/shared_library.hpp"
#include "etude/base/error.hpp"
#include "etude/initializers/initializer.hpp"

namespace {

using namespace etude;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The median time of some rounds of `count` calls, each as long as a call takes.
template <class Work> double time_of(cuda::Runtime& gpu, int count, const Work& work) {
  std::vector<double> times;
  for (int round = 0; round < 8; ++round) {
    gpu.wait();
    const double began = seconds();
    for (int i = 0; i < count; ++i) work();
    gpu.wait();
    if (round > 0) times.push_back((seconds() - began) / count);
  }
  std::ranges::nth_element(times, times.begin() + 3);
  return times[3];
}

/// A GPU takes less power for zeros, and runs faster: it gets numbers from -1 to 1.
void fill(cuda::Runtime& gpu, std::byte* matrix, std::int64_t count, DType dtype) {
  const Tensor numbers = (*initializers::random_uniform({.minval = -1, .maxval = 1, .seed = 1}))({count}, dtype);
  gpu.upload(matrix, numbers.raw(), numbers.bytes());
}

/// GFLOP/s of c [n, n] = a · b.
double product_rate(cuda::Runtime& gpu, DType dtype) {
  constexpr std::int64_t n = 8192;
  std::vector<std::byte*> matrices;
  for (int i = 0; i < 3; ++i) matrices.push_back(gpu.allocate(n * n * size_of(dtype)));
  for (const std::size_t i : {0, 1}) fill(gpu, matrices[i], n * n, dtype);
  std::byte* workspace = gpu.allocate(gpu.product_workspace());
  const auto matrix = [&](std::size_t i) { return cuda::MatrixProduct::Matrix{matrices[i], n, false, 0}; };
  const cuda::MatrixProduct product{dtype, n, n, n, 1, matrix(0), matrix(1), matrix(2), workspace};
  const bool possible = gpu.multiply(product);
  const double time = possible ? time_of(gpu, 4, [&] { gpu.multiply(product); }) : 0;
  for (std::byte* block : matrices) gpu.release(block);
  gpu.release(workspace);
  return possible ? 2e-9 * n * n * n / time : 0;
}

/// Seconds that a graph of so many kernels takes, each of which adds 1 to a number.
double graph_time(Cuda& device, int nodes) {
  using namespace instruction;
  const Access number{{0, 0, DType::int32}};
  const Program program{.inputs = {{Lane::int32}},
                        .immediates = {{1, Lane::int32}},
                        .steps = {{opcode_of<op::Add>(), Lane::int32, Lane::int32, 2, 0, 1, 1}},
                        .outputs = {{2}},
                        .registers = 3};
  const Segment segment{.size = 1, .inputs = {number}, .outputs = {number}};
  const Elementwise add{.program = program, .segments = {segment}};
  const auto block = device.allocate(64);
  const std::array addresses{block->address()};
  device.run(add, addresses);  // compiles it
  const auto graph = device.runtime().record([&] {
    for (int i = 0; i < nodes; ++i) device.run(add, addresses);
  });
  return time_of(device.runtime(), 1000, [&] { device.runtime().launch(*graph); });
}

void print_peak() {
  std::string why;
  const std::vector<cuda::Gpu> gpus = cuda::find_gpus(why);
  check(!gpus.empty(), ErrorKind::state, "etude_gpu_peak", why, " - expected a GPU - see what nvidia-smi says.");
  Cuda device("/gpu:0", cuda::open_gpu(gpus.front().ordinal));
  cuda::Runtime& gpu = device.runtime();
  const auto rounding = cuda::open_gpu(gpus.front().ordinal, true);
  constexpr std::size_t bytes = std::size_t{1} << 30;
  std::byte *from = gpu.allocate(bytes), *to = gpu.allocate(bytes);
  const double copy = time_of(gpu, 4, [&] { gpu.copy(to, from, bytes); });
  gpu.release(from);
  gpu.release(to);
  const double one = graph_time(device, 1), many = graph_time(device, 65);
  std::string libraries;
  bool has_cublas_lt = false;
  for (const auto& [what, path] : cuda::SharedLibrary::loaded()) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), path.c_str());
    libraries += (libraries.empty() ? "\"" : ", \"") + what + "\": \"" + path + '"';
    has_cublas_lt |= what == "cuBLASLt";
  }
  const char* const wanted = std::getenv("ETUDE_CUBLASLT");
  check(has_cublas_lt || (wanted && std::string_view(wanted) == "0"), ErrorKind::state, "etude_gpu_peak",
        "no cuBLASLt - expected the vendor's products - install it, or set ETUDE_CUBLASLT=0.");
  std::printf(
      R"({"gpu": "%s", "libraries": {%s}, "float32_gflops": %.0f, "tf32_gflops": %.0f, "bfloat16_gflops": %.0f, )"
      R"("gbytes_per_s": %.0f, "launch_us": %.2f, "kernel_us": %.2f})"
      "\n",
      gpus.front().model.c_str(), libraries.c_str(), product_rate(gpu, DType::float32),
      product_rate(*rounding, DType::float32), product_rate(gpu, DType::bfloat16),
      2e-9 * static_cast<double>(bytes) / copy, 1e6 * one, 1e6 * (many - one) / 64);
}

}  // namespace

int main() try { print_peak(); } catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
