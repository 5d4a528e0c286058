#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "bench/workloads.hpp"
#include "cuda/cuda.hpp"
#include "cuda/program_source.hpp"
#include "etude/graph/detail/op.hpp"
#include "etude/training/detail/step_function.hpp"
#include "host_runtime.hpp"
#include "runtime_under_test.hpp"

// The launches of a GPU in a step; they take most of the time of small models. Only on the host.

using namespace etude;
using namespace etude::testing;

namespace {

int launches_in(const CountingRuntime::Counts& counts) {
  return counts.kernels + counts.programs + counts.products + counts.copies;
}

/// Counts the launches of one step, after the steps that allocate and compile.
class Launches : public Callback {
 public:
  explicit Launches(CountingRuntime::Counts& counts) : counts_(counts) {}
  int of_a_step = 0;
  void on_train_batch_begin(std::int64_t, Logs&) override { counts_ = {}; }
  void on_train_batch_end(std::int64_t, Logs&) override { of_a_step = launches_in(counts_); }

 private:
  CountingRuntime::Counts& counts_;
};

int launches_of(const std::string& name) {
  Cuda device("/gpu:0", std::make_unique<CountingRuntime>(std::make_unique<HostRuntime>(true)), {.record = false});
  auto& counts = static_cast<CountingRuntime&>(device.runtime()).counts;
  const auto scope = std::make_shared<OneDeviceStrategy>(device)->scope();
  const Workload work = make_workload(name);
  work.model->compile(work.compile);
  const auto launches = std::make_shared<Launches>(counts);
  const std::int64_t rows = 2 * work.batch;
  work.model->fit(work.x.rows(0, rows), work.y.rows(0, rows),
                  {.batch_size = work.batch, .epochs = 1, .verbose = 0, .callbacks = {launches}});
  return launches->of_a_step;
}

}  // namespace

TEST_CASE("the threads of a launch divide its segments", "[cuda][launches]") {
  using namespace instruction;
  const std::vector<std::int64_t> sizes{300, 0, 1, 700'000, 5, 256, 0};  // of more elements than threads, too
  std::vector<float> numbers(701'000, 1);
  Elementwise more{};
  more.program = {.inputs = {{Lane::float32}},
                  .immediates = {{1, Lane::float32}},
                  .steps = {{opcode_of<op::Add>(), Lane::float32, Lane::float32, 2, 0, 1, 1}},
                  .outputs = {{2}},
                  .registers = 3};
  std::vector<float> expected = numbers;
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    more.segments.push_back({size, {{{0, 4 * first}}}, {{{0, 4 * first}}}});
    for (std::int64_t i = first; i < first + size; ++i) expected[static_cast<std::size_t>(i)] = 2;
    first += size + 7;
  }
  cuda::ProgramArguments arguments;
  const std::array addresses{reinterpret_cast<std::byte*>(numbers.data())};
  for (const Segment& segment : more.segments) arguments.add(more.program, segment, addresses);
  CHECK(arguments.blocks() == 1 + 1 + 2048 + 1 + 1);  // the first is aligned to four elements
  run_threads(cuda::program_source(more.program, more.segments[0], sizes.size()), arguments.blocks(),
              cuda::program_threads, arguments.data());
  const auto other = std::ranges::mismatch(numbers, expected).in1;
  CHECK(other - numbers.begin() == std::ssize(numbers));
}

TEST_CASE("explain counts the launches of a step", "[cuda][launches][explain]") {
  for (const std::string name : {"tiny", "attn", "lstm"}) {
    Cuda device("/gpu:0", std::make_unique<CountingRuntime>(std::make_unique<HostRuntime>(true)), {.record = false});
    const auto& counts = static_cast<CountingRuntime&>(device.runtime()).counts;
    const auto scope = std::make_shared<OneDeviceStrategy>(device)->scope();
    const Workload work = make_workload(name);
    work.model->compile(work.compile);
    const auto function = work.model->make_train_function();
    const Batch batch{{work.x.rows(0, work.batch)}, {work.y.rows(0, work.batch)}, {}};
    (*function)(batch);
    const int before = launches_in(counts);
    const std::string text = work.model->explain();
    CHECK(launches_in(counts) == before);  // nothing was enqueued
    (*function)(batch);
    INFO(text);
    CHECK(text.find(" instructions, " + std::to_string(launches_in(counts) - before) + " launches, ") !=
          std::string::npos);
  }
}

TEST_CASE("a step of each small benchmark model has at most a known number of launches", "[cuda][launches][long]") {
  for (const auto& [name, most] :
       {std::pair<std::string, int>{"tiny", 19}, {"mlp", 22}, {"cnn", 32}, {"cnn2", 49}, {"attn", 64}, {"lstm", 167}}) {
    const int launches = launches_of(name);
    INFO(name << ": " << launches);
    CHECK(launches <= most);
  }
}
