// etude_gpu_peak              prints the rates of this machine's first GPU as a JSON line: GFLOP/s of its vendor's
//                             products; GB/s of a copy, which reads and writes; microseconds from one launch of a graph
//                             to the next, and for each further kernel in it; and for longer graphs the times to
//                             instantiate, upload and launch them, and the bytes of a node. Floors use these numbers.
// etude_gpu_peak --libraries  prints the paths of the vendor's libraries that Étude loads, as JSON.
// Both exit with 1 without cuBLASLt, unless ETUDE_CUBLASLT=0.
#include <cuda_runtime.h>

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
#include "cuda/expect.hpp"
#include "cuda/gpu_runtime.hpp"
#include "cuda/nccl.hpp"
#include "cuda/shared_library.hpp"
#include "etude/base/error.hpp"
#include "etude/graph/detail/op.hpp"
#include "etude/initializers/initializer.hpp"

namespace {

using namespace etude;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The median time of a call, over rounds of `count` calls.
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

/// Fills a matrix with numbers from -1 to 1: with zeros a GPU needs less power, and runs faster.
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

/// Used device memory, in bytes.
std::size_t used_memory() {
  std::size_t free = 0, total = 0;
  cuda::expect(cudaMemGetInfo(&free, &total), "reading the free memory");
  return total - free;
}

/// The costs of a graph of kernels that each add 1 to a number.
struct GraphCosts {
  double instantiate_s, upload_s, launch_s, bytes_per_node;
};

GraphCosts graph_costs(Cuda& device, int nodes) {
  using namespace instruction;
  const Access number{{0, 0, DType::int32}};
  const Program program{.inputs = {{Lane::int32}},
                        .immediates = {{1, Lane::int32}},
                        .steps = {{opcode_of<op::Add>(), Lane::int32, Lane::int32, 2, 0, 1, 1}},
                        .outputs = {{2}},
                        .registers = 3};
  const Segment segment{.size = 1, .inputs = {number}, .outputs = {number}};
  std::array<Instruction, 1> add{Elementwise{.program = program, .segments = {segment}}};
  device.prepare(add);
  const auto block = device.allocate(64);
  const std::array addresses{block->address()};
  const auto run = [&] { device.run(add, addresses); };
  run();
  cuda::Runtime& gpu = device.runtime();
  gpu.wait();
  cudaStream_t stream = gpu.stream();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cuda::expect(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a graph");
  for (int i = 0; i < nodes; ++i) run();
  cuda::expect(cudaStreamEndCapture(stream, &graph), "ending a graph");
  const std::size_t before = used_memory();
  const double began = seconds();
  cuda::expect(cudaGraphInstantiate(&executable, graph, 0), "instantiating a graph");
  const double instantiated = seconds();
  cuda::expect(cudaGraphUpload(executable, stream), "uploading a graph");
  gpu.wait();
  const double uploaded = seconds();
  const auto launch = [&] { cuda::expect(cudaGraphLaunch(executable, stream), "launching a graph"); };
  const double launched = time_of(gpu, std::clamp(65000 / nodes, 4, 1000), launch);
  const std::size_t after = used_memory();
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  return {instantiated - began, uploaded - instantiated, launched,
          after > before ? static_cast<double>(after - before) / nodes : 0};
}

/// The loaded libraries, as JSON. Throws without cuBLASLt, unless it is disabled.
std::string libraries() {
  std::string text;
  bool has_cublas_lt = false;
  for (const auto& [what, path] : cuda::SharedLibrary::loaded()) {
    text += (text.empty() ? "\"" : ", \"") + what + "\": \"" + path + '"';
    has_cublas_lt |= what == "cuBLASLt";
  }
  const char* const wanted = std::getenv("ETUDE_CUBLASLT");
  check(has_cublas_lt || (wanted && std::string_view(wanted) == "0"), ErrorKind::state, "etude_gpu_peak",
        "no cuBLASLt - expected the vendor's products - install it, or set ETUDE_CUBLASLT=0.");
  return '{' + text + '}';
}

int first_gpu(std::string& model) {
  std::string why;
  const std::vector<cuda::Gpu> gpus = cuda::find_gpus(why);
  check(!gpus.empty(), ErrorKind::state, "etude_gpu_peak", why, " - expected a GPU - run nvidia-smi.");
  model = gpus.front().model;
  return gpus.front().ordinal;
}

void print_libraries() {
  std::string model;
  cuda::open_gpu(first_gpu(model));
  try {
    cuda::Nccl::installed();
  } catch (const Error& missing) {  // one GPU does not need NCCL
    std::fprintf(stderr, "%s\n", missing.what());
  }
  std::printf(R"({"gpu": "%s", "libraries": %s})"
              "\n",
              model.c_str(), libraries().c_str());
}

void print_peak() {
  std::string model;
  const int ordinal = first_gpu(model);
  Cuda device("/gpu:0", cuda::open_gpu(ordinal));
  cuda::Runtime& gpu = device.runtime();
  const auto rounding = cuda::open_gpu(ordinal, true);
  constexpr std::int64_t bytes = std::int64_t{1} << 30;
  std::byte *from = gpu.allocate(bytes), *to = gpu.allocate(bytes);
  constexpr std::int64_t part = bytes / 16;
  fill(gpu, from, part / 4, DType::float32);
  for (std::int64_t filled = part; filled < bytes; filled += part) gpu.copy(from + filled, from, part);
  const double copy = time_of(gpu, 4, [&] { gpu.copy(to, from, bytes); });
  gpu.release(from);
  gpu.release(to);
  const double one = graph_costs(device, 1).launch_s;
  std::string graphs;
  double many = 0;
  for (const int nodes : {65, 1000, 4000, 16000}) {
    const GraphCosts costs = graph_costs(device, nodes);
    if (nodes == 65) many = costs.launch_s;
    char text[160];
    std::snprintf(
        text, sizeof text,
        R"(%s{"nodes": %d, "instantiate_ms": %.2f, "upload_ms": %.2f, "launch_us": %.1f, "bytes_per_node": %.0f})",
        graphs.empty() ? "" : ", ", nodes, 1e3 * costs.instantiate_s, 1e3 * costs.upload_s, 1e6 * costs.launch_s,
        costs.bytes_per_node);
    graphs += text;
  }
  std::printf(R"({"gpu": "%s", "libraries": %s, "float32_gflops": %.0f, "tf32_gflops": %.0f, "bfloat16_gflops": %.0f, )"
              R"("gbytes_per_s": %.0f, "launch_us": %.2f, "kernel_us": %.2f, "graphs": [%s]})"
              "\n",
              model.c_str(), libraries().c_str(), product_rate(gpu, DType::float32),
              product_rate(*rounding, DType::float32), product_rate(gpu, DType::bfloat16),
              2e-9 * static_cast<double>(bytes) / copy, 1e6 * one, 1e6 * (many - one) / 64, graphs.c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1 && std::string_view(argv[1]) == "--libraries")
    print_libraries();
  else
    print_peak();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
