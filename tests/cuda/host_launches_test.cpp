#include <catch2/catch_test_macros.hpp>

#include "bench/workloads.hpp"
#include "cuda/cuda.hpp"
#include "host_runtime.hpp"
#include "runtime_under_test.hpp"

// What a GPU has to begin in a step: of small models it is that, not the work, which takes the time. On the host alone.

using namespace etude;
using namespace etude::testing;

namespace {

/// Counts what one step launches, after those that allocate and compile.
class Launches : public Callback {
 public:
  explicit Launches(CountingRuntime::Counts& counts) : counts_(counts) {}
  int of_a_step = 0;
  void on_train_batch_begin(std::int64_t, Logs&) override { counts_ = {}; }
  void on_train_batch_end(std::int64_t, Logs&) override {
    of_a_step = counts_.kernels + counts_.programs + counts_.products + counts_.copies;
  }

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

TEST_CASE("a step of the benchmark's small models is no more than so many launches", "[cuda][launches][long]") {
  for (const auto& [name, most] :
       {std::pair<std::string, int>{"tiny", 19}, {"mlp", 22}, {"cnn", 32}, {"cnn2", 49}, {"attn", 67}, {"lstm", 167}}) {
    const int launches = launches_of(name);
    INFO(name << ": " << launches);
    CHECK(launches <= most);
  }
}
