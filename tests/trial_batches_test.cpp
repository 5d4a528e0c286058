#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#if defined(ETUDE_THREADS)
#include <barrier>
#include <thread>
#endif

#include "trials.hpp"

namespace etude::experiment {
namespace {

using Catch::Matchers::ContainsSubstring;

#if defined(ETUDE_THREADS)
/// Two processes: two threads.
struct Pair {
  std::barrier<> barrier{2};
  std::array<std::vector<std::byte>, 2> parts;

  class Member : public Workers {
   public:
    Member(Pair& pair, int rank) : pair_(pair), rank_(rank) {}
    std::string_view name() const override { return "pair"; }
    int rank() const override { return rank_; }
    int count() const override { return 2; }
    void all_reduce(std::span<const ReplicaSum>) override {}
    void broadcast(std::span<std::byte> memory) override {
      exchange(memory);
      std::ranges::copy(pair_.parts[0], memory.begin());
      pair_.barrier.arrive_and_wait();
    }
    using Workers::all_gather;
    void all_gather(std::span<const std::byte> own, std::span<const std::size_t>, std::byte* all) override {
      exchange(own);
      for (const auto& part : pair_.parts) all = std::ranges::copy(part, all).out;
      pair_.barrier.arrive_and_wait();
    }

   private:
    void exchange(std::span<const std::byte> own) {
      pair_.parts[static_cast<std::size_t>(rank_)].assign(own.begin(), own.end());
      pair_.barrier.arrive_and_wait();
    }
    Pair& pair_;
    const int rank_;
  };
};
#endif

}  // namespace

#if defined(ETUDE_THREADS)
TEST_CASE("experiment: several processes share the batches, and all end if one of them is asked", "[experiment]") {
  Trial trial;
  std::array<std::vector<std::int64_t>, 2> processed;
  std::array<int, 2> codes{};
  const auto start = [&](bool asks) {
    Pair pair;
    const auto run = [&](std::size_t rank) {
      Config config = trial.with_files();
      config.workers = std::make_shared<Pair::Member>(pair, static_cast<int>(rank));
      config.preempt.requested = [&, rank] { return asks && rank == 1 && !processed[1].empty(); };
      codes[rank] = trial_main(
          [&](Context& context) {
            context.train.set_status("processing");
            context.batch_process(Dataset::range(0, 9).batch(2),
                                  [&](const Batch&, std::int64_t index) { processed[rank].push_back(index); },
                                  {.checkpoint_interval = 2});
          },
          config);
    };
    std::thread other(run, 1);
    run(0);
    other.join();
  };
  start(true);
  CHECK(codes == std::array{143, 143});
  CHECK(processed[0] == std::vector<std::int64_t>{0, 2});
  CHECK(processed[1] == std::vector<std::int64_t>{1});
  start(false);
  CHECK(codes == std::array{0, 0});
  CHECK(processed[0] == std::vector<std::int64_t>{0, 2, 4});
  CHECK(processed[1] == std::vector<std::int64_t>{1, 3});
  CHECK(lines_in(*trial.files, "trial/metrics.jsonl").size() == 3);  // of rank 0
  // Each process predicts other batches, so a model of all of them would mix their rows.
  Pair pair;
  std::array<std::string, 2> errors;
  const auto predict = [&](std::size_t rank) {
    Config config = trial.with_files();
    config.workers = std::make_shared<Pair::Member>(pair, static_cast<int>(rank));
    errors[rank] = error_of([&] {
      Context context(config);
      const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(config.workers);
      const auto scope = strategy->scope();
      Sequential model({layers::dense({.units = 1})});
      context.batch_process(model, Dataset::range(0, 9).batch(2),
                            [](const std::vector<Tensor>&, const Batch&, std::int64_t) {});
    });
  };
  std::thread other(predict, 1);
  predict(0);
  other.join();
  for (const std::string& error : errors)
    CHECK_THAT(error, ContainsSubstring("[batch_process] a model of a strategy of several processes"));
  CHECK_THAT(error_of([&] {
               Context context(trial.with_files());
               context.batch_process(Dataset::range(0, 9), [](const Batch&, std::int64_t) {});
             }),
             ContainsSubstring("is of 2 processes - expected 1"));
}
#endif

TEST_CASE("experiment: batches are processed once, also if the trial is preempted or interrupted", "[experiment]") {
  Trial trial;
  const std::optional<std::int64_t> max_batches = GENERATE(std::optional<std::int64_t>(), 5);
  const std::int64_t count = max_batches.value_or(7);
  bool request = false;
  trial.config.preempt.requested = [&] { return request; };
  const Dataset dataset = Dataset::range(0, 13).batch(2);
  std::vector<std::int64_t> processed;
  int finished = 0, throw_at = -1;
  const auto start = [&] {
    Context context(trial.with_files());
    context.batch_process(dataset,
                          [&](const Batch& batch, std::int64_t index) {
                            CHECK(batch.x[0].at(0) == 2 * static_cast<double>(index));
                            if (index == throw_at) throw Interruption{};
                            processed.push_back(index);
                            request = index == 2;
                          },
                          {.checkpoint_interval = 2, .max_batches = max_batches, .on_finish = [&] { ++finished; }});
  };
  CHECK_THROWS_AS(start(), Preempted);
  CHECK(processed == std::vector<std::int64_t>{0, 1, 2});
  request = false;
  throw_at = 4;  // of the batches since the last stored position, the trial repeats those before
  CHECK_THROWS_AS(start(), Interruption);
  throw_at = -1;
  start();
  std::vector<std::int64_t> all{0, 1, 2, 3};
  for (std::int64_t i = 3; i < count; ++i) all.push_back(i);
  CHECK(processed == all);
  CHECK(finished == 1);
  start();  // nothing is left
  CHECK(processed == all);
}

}  // namespace etude::experiment
