#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <etude/etude.hpp>

#include "multi_worker_scenarios.hpp"
#include "separate_device.hpp"

// Gradients that are summed in packs, beside the backward pass; on the processor, and on devices with their own memory.
namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;

constexpr std::size_t one_pack = std::size_t{1} << 40;

/// Runs `work` in the scope of a strategy, in several processes. `bytes_per_pack`: WorkerOptions, by rank.
Reports run_packed(const std::vector<std::size_t>& bytes_per_pack, const std::function<std::string()>& work,
                   bool separate = false) {
  const int count = static_cast<int>(bytes_per_pack.size());
  const std::string chief = free_address();
  return run_processes(count, [&](int rank) {
    SeparateDevice device;
    Device& usual = default_device();
    if (separate) set_default_device(device);
    const auto workers = connect_workers(
        {.rank = rank, .size = count, .chief = chief},
        {.timeout = std::chrono::seconds(15), .bytes_per_pack = bytes_per_pack[static_cast<std::size_t>(rank)]});
    set_random_seed(3);
    const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(workers);
    const auto scope = strategy->scope();
    std::string report = work();
    set_default_device(usual);
    return report;
  });
}

/// The weights of a model after three epochs of whole batches, and the number of the plan's all-reduces.
struct Trained {
  std::string weights;
  std::size_t all_reduces;
};
Trained trained_in(const std::string& report) {
  return {report.substr(0, report.size() - sizeof(std::size_t)), [&] {
            std::size_t count = 0;
            std::memcpy(&count, report.data() + report.size() - sizeof count, sizeof count);
            return count;
          }()};
}

std::string train_whole_batches() {
  Sequential model({layers::dense({.units = 8, .activation = "tanh"}), layers::dense({.units = 8}),
                    layers::batch_normalization({.synchronized = true}), layers::dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  constexpr std::int64_t whole = 3 * batch_size;
  model.fit(waves({whole, 5}), waves({whole, 1}), {.batch_size = batch_size, .epochs = 3, .verbose = 0});
  std::string report;
  for (const Tensor& weight : model.get_weights()) report += bytes_of(weight.raw(), weight.bytes());
  const std::string plan = model.explain();
  std::size_t all_reduces = 0;
  for (std::size_t at = 0; (at = plan.find("AllReduce", at)) != std::string::npos; ++at) ++all_reduces;
  return report + bytes_of(&all_reduces, sizeof all_reduces);
}

}  // namespace

TEST_CASE("packs: gradients that are summed in several packs during the backward pass give the same numbers",
          "[gloo]") {
  const std::size_t count = GENERATE(2, 3);
  CAPTURE(count);
  const auto run = [&](std::size_t bytes) {
    return run_packed(std::vector<std::size_t>(count, bytes), train_whole_batches);
  };
  const Reports packed = run(1), whole = run(one_pack);
  for (const std::string& report : packed) CHECK((report == packed.front()));
  CHECK((run(1) == packed));
  const Trained a = trained_in(packed.front()), b = trained_in(whole.front());
  CHECK(a.all_reduces > b.all_reduces + 4);
  REQUIRE(a.weights.size() == sizeof(float) * (8 * 5 + 8 + 8 * 8 + 8 + 4 * 8 + 8 + 1));
  REQUIRE(b.weights.size() == a.weights.size());
  CHECK(distance<float>(a.weights, b.weights) <= (count == 2 ? 0.0F : 1e-6F));  // two summands have one order
}

TEST_CASE("packs: processes with other packs follow rank 0", "[gloo]") {
  const auto train = [] { return report_of(numbers_of(scenarios().front())); };
  const Reports expected = run_packed({1, 1}, train), got = run_packed({1, one_pack}, train);
  REQUIRE(expected.front().size() > 4 * rows);
  CHECK((got == expected));
}

TEST_CASE("packs: devices with their own memory give the same bits as processors", "[gloo]") {
  const auto [count, index] = GENERATE(std::pair(2, 0), std::pair(2, 1), std::pair(3, 2));
  const std::int64_t steps_per_execution = GENERATE(1, 3);
  const std::size_t bytes = GENERATE(0, 1);
  CAPTURE(count, index, steps_per_execution, bytes);
  const auto train = [&] {
    return report_of(numbers_of(scenarios()[static_cast<std::size_t>(index)], steps_per_execution));
  };
  const std::vector<std::size_t> packs(static_cast<std::size_t>(count), bytes);
  const Reports expected = run_packed(packs, train), got = run_packed(packs, train, true);
  REQUIRE(expected.front().size() > 4 * rows);
  CHECK((got == expected));
}

namespace {

/// Trains in two processes, whose devices hold four batches. The data has eight batches of its own in each process.
Reports fit_on(const std::function<Batch(bool is_chief, int batch)>& data) {
  return run_packed(
      {0, 0},
      [&] {
        Sequential model({layers::dense({.units = 2})});
        model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .steps_per_execution = 4});
        const bool is_chief = get_strategy()->first_local_replica() == 0;
        const Dataset batches = Dataset::from_generator([&, is_chief] {
          return [&data, is_chief, batch = 0]() mutable { return std::optional(data(is_chief, batch++)); };
        });
        model.fit(batches.with_options({.auto_shard_policy = "off"}), {.verbose = 0, .steps_per_epoch = 8});
        return std::string("no error");
      },
      true);
}

Batch labelled(std::int32_t label) {
  return {{waves({4, 5})}, {Tensor::from<std::int32_t>({4}, {0, 1, 0, label})}, {}};
}

}  // namespace

TEST_CASE("packs: an error of one process's data is an error in all of them, while devices hold batches", "[gloo]") {
  const Reports reports = fit_on([](bool is_chief, int batch) {
    if (is_chief && batch == 2) throw std::runtime_error("the data ends here");
    return labelled(1);
  });
  CHECK(reports[0] == "error: the data ends here");
  CHECK_THAT(reports[1], ContainsSubstring("rank 0"));
}

TEST_CASE("packs: a process with an invalid label reports it, while devices hold batches", "[gloo]") {
  const int first_invalid = GENERATE(1, 2, 3);
  const Reports reports =
      fit_on([&](bool is_chief, int batch) { return labelled(is_chief && batch >= first_invalid ? 7 : 1); });
  CHECK_THAT(reports[0], ContainsSubstring("label 7"));
  CHECK_THAT(reports[1], ContainsSubstring("rank 0"));
}

}  // namespace etude
