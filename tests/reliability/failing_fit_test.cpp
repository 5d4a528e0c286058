#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <limits>

#include "allocation_counter.hpp"
#include "checkpoint_samples.hpp"
#include "etude/base/detail/system_vfs.hpp"
#include "etude/base/detail/worker_thread.hpp"
#include "files_in_memory.hpp"
#include "reliability/cases.hpp"
#include "scratch_folder.hpp"
#include "training_samples.hpp"

// Each request of fit to the system fails once: memory, and calls on files. To run a single case:
// ETUDE_CASE=17 etude_tests '[memory_case]'
namespace etude {
namespace {

using namespace samples;
using namespace testing;

class Rows : public Sequence {
 public:
  std::int64_t size() const override { return 4; }
  Batch batch(std::int64_t index) override {
    const Tensor x = waves({3, 40}, static_cast<double>(index));
    return {{x}, {signs_of(x)}, {}};
  }
};

/// Trains a model, and returns its weights.
std::vector<double> fit(const Data& data, std::vector<CallbackPtr> list = {}, int workers = 1,
                        std::optional<std::int64_t> batch_size = {}) {
  Sequential model(two_dense(24));
  model.compile(mse(0.01));
  model.fit(data, {.batch_size = batch_size,
                   .epochs = 2,
                   .verbose = 0,
                   .callbacks = std::move(list),
                   .shuffle = false,
                   .workers = workers});
  return weights_of(model);
}

std::vector<CallbackPtr> writing_callbacks(const std::string& folder) {
  const auto silent = [](std::string_view) {};
  return {
      callbacks::csv_logger({.filename = folder + "/log.csv"}),
      callbacks::early_stopping({.monitor = "loss", .patience = 5, .restore_best_weights = true}),
      callbacks::model_checkpoint(
          {.filepath = folder + "/best", .monitor = "loss", .save_best_only = true, .print = silent, .warn = silent}),
      callbacks::backup_and_restore({.backup_dir = folder + "/backup", .save_freq = 2, .warn = silent}),
      callbacks::tensorboard({.log_dir = folder + "/events"})};
}

/// The scenarios during which requests for memory of at least that size fail. Checkpoints have a larger bound: below it
/// are the allocations of nlohmann-json when it destroys a value, where C++ cannot report failures.
struct Scenario {
  const char* name;
  void (*run)();
  std::size_t at_least = 512;
};

void read_csv_text() {
  const std::string text = "x,y\n1,2\n3,\"4\"\n" + std::string(3000, '1') + ",2\n";
  CsvReader reader({.label = "y", .missing = 0});
  reader.add({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  reader.finish();
  try {
    while (reader.next()) continue;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
  }
}

constexpr Scenario scenarios[]{
    {"fit of arrays",
     [] {
       const Tensor x = waves({12, 40});
       fit(Data(x, signs_of(x)), {}, 1, 3);
     }},
    {"fit of a sequence with workers", [] { fit(std::make_shared<Rows>(), {}, 3); }},
    {"fit of a dataset",
     [] {
       const Tensor x = waves({12, 40});
       fit(Dataset::from_tensor_slices({{x}, {signs_of(x)}, {}}).shuffle(8, {.seed = 1}).batch(3).prefetch(2));
     }},
    {"fit with callbacks that write",
     [] {
       const FilesInMemory scope;
       fit(std::make_shared<Rows>(), writing_callbacks("."));
     },
     4096},
    {"CSV", read_csv_text},
};
constexpr std::int64_t cases_each = 1'000'000;

/// The number of large requests of a scenario.
std::ptrdiff_t requests_of(const Scenario& scenario) {
  scenario.run();
  const FailingAllocation none(std::numeric_limits<std::ptrdiff_t>::max(), scenario.at_least);
  scenario.run();
  return none.requests();
}

/// Fails the n-th large request of a scenario.
std::string memory_case(std::int64_t number) {
  const Scenario& scenario = scenarios[number / cases_each];
  static std::int64_t warm = -1;
  if (std::exchange(warm, number / cases_each) != number / cases_each)
    for (int i = 0; i < 3; ++i) scenario.run();
  try {
    const FailingAllocation failing(number % cases_each, scenario.at_least);
    scenario.run();
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& error) {
    // A layer's error names the weight without memory.
    if (std::string_view(error.what()).find("no memory for") == std::string_view::npos)
      return std::string(scenario.name) + ": an error that is not about memory: " + error.what();
  }
  try {
    scenario.run();
  } catch (const std::exception& error) {
    return std::string(scenario.name) + " fails afterwards: " + error.what();
  }
  return "";
}
const Campaign memory_campaign{.tag = "[memory_case]", .run = memory_case, .block = 200};

/// Fails the n-th system call of a fit with callbacks that write, and all later ones if `lasting`.
std::string file_case(std::int64_t number, bool lasting, bool* reached = nullptr) {
  const ScratchFolder scratch("etude_failing_fit", ScratchFolder::memory);
  const std::shared_ptr<Vfs> before = host().files;
  std::string wrong;
  std::int64_t calls = 0;
  host().files = system_vfs([&](std::string_view, std::size_t&) {
    const std::int64_t call = ++calls;
    return call == number || (lasting && call > number) ? EIO : 0;
  });
  try {
    fit(std::make_shared<Rows>(), writing_callbacks(scratch.path()));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) wrong = std::string("not an Error(io): ") + error.what();
  } catch (const std::exception& error) {
    wrong = std::string("an untyped exception: ") + error.what();
  }
  host().files = before;
  if (reached) *reached = calls >= number;
  try {
    fit(std::make_shared<Rows>(), writing_callbacks(scratch.path()));
  } catch (const std::exception& error) {
    wrong = std::string("the next fit fails: ") + error.what();
  }
  return wrong;
}

}  // namespace

TEST_CASE("the process that runs out of memory", "[.][memory_case]") { run_as_child(memory_campaign); }

TEST_CASE("reliability: a fit without memory at any point throws bad_alloc, and the next one succeeds",
          "[reliability]") {
  for (std::size_t i = 0; i < std::size(scenarios); ++i) {
    const std::ptrdiff_t requests = requests_of(scenarios[i]);
    INFO(scenarios[i].name << ": " << requests << " requests of " << scenarios[i].at_least << " bytes or more");
    CHECK(requests > 0);
    const std::ptrdiff_t step = rounds(std::max(1, static_cast<int>(requests / 40)), 1);
    for (std::ptrdiff_t n = 1; n <= requests; n += step) {
      const std::int64_t first = static_cast<std::int64_t>(i) * cases_each + n;
      for (const std::string& failure : run_cases(memory_campaign, first, step == 1 ? requests : 1))
        FAIL_CHECK(failure);
      if (step == 1) break;
    }
  }
}

TEST_CASE(
    "reliability: whichever call on files fails in a fit whose callbacks write, it ends with an Error(io) or goes "
    "on, and the next one succeeds",
    "[reliability]") {
  const bool lasting = GENERATE(false, true);
  const int step = rounds(7, 1);
  bool reached = true;
  std::int64_t n = 1;
  for (; reached; n += step) {
    const std::string wrong = file_case(n, lasting, &reached);
    INFO("call " << n << (lasting ? " and all after it" : ""));
    CHECK(wrong == "");
  }
  CHECK(n > 100);
}

TEST_CASE("reliability: if any thread cannot start, fits end with the same weights", "[reliability]") {
  struct Fault {
    ~Fault() { thread_fault() = {}; }
    std::atomic<int> asked = 0;
  };
  const auto train = [] {
    const FilesInMemory scope;
    const Tensor x = waves({12, 40});
    const Dataset data = Dataset::from_tensor_slices({{x}, {signs_of(x)}, {}}).batch(3).prefetch(2);
    std::vector<double> weights = fit(std::make_shared<Rows>(), writing_callbacks("."), 3);
    for (const double weight : fit(data)) weights.push_back(weight);
    return weights;
  };
  const std::vector<double> wanted = train();
  const bool lasting = GENERATE(false, true);
  for (int n = 1, asked = 1; asked >= n; ++n) {
    Fault fault;
    thread_fault() = [&] {
      const int number = ++fault.asked;
      return number == n || (lasting && number > n);
    };
    INFO("thread " << n << (lasting ? " and all after it" : ""));
    CHECK(train() == wanted);
    asked = fault.asked;
  }
}

}  // namespace etude
