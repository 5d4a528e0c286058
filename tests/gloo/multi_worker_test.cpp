#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <etude/etude.hpp>
#include <filesystem>
#include <optional>

#include "multi_worker_scenarios.hpp"

// MultiWorkerMirroredStrategy: several processes give the numbers of one, and hold the same bits after every step.
namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;

/// Runs `work` in the scope of the strategy, in several processes. Before, each of them calls `begin` with its rank.
Reports run_strategies(
    int count, const std::function<std::string(MultiWorkerMirroredStrategy&)>& work,
    const std::function<void(int)>& begin = [](int) {}) {
  return run_workers(count, [&](const std::shared_ptr<Workers>& workers) {
    begin(workers->rank());
    const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(workers);
    const auto scope = strategy->scope();
    return work(*strategy);
  });
}

}  // namespace

TEST_CASE("multi-worker: fit, evaluate and predict give the numbers of one process, with the same bits in all",
          "[gloo][any_engine]") {
  const auto [count, index] =
      GENERATE(std::pair(2, 0), std::pair(3, 0), std::pair(4, 0), std::pair(4, 1), std::pair(3, 2));
  const Scenario& scenario = scenarios()[static_cast<std::size_t>(index)];
  CAPTURE(count, scenario.name);
  const Reports one = run_processes(1, [&](int) {
    set_random_seed(3);
    return report_of(numbers_of(scenario));
  });
  const auto run = [&] {
    return run_strategies(
        count, [&](MultiWorkerMirroredStrategy&) { return report_of(numbers_of(scenario)); },
        [](int rank) { set_random_seed(rank == 0 ? 3 : 9); });  // all get the seed of rank 0
  };
  const Reports several = run();
  for (const std::string& report : several) CHECK((report == several.front()));
  CHECK((run() == several));

  constexpr std::size_t steps = 3 * 4;
  const std::vector<float> expected = numbers_in(one.front()), got = numbers_in(several.front());
  REQUIRE(expected.size() > rows + steps);
  REQUIRE(got.size() == expected.size());
  float farthest = 0;
  for (std::size_t i = 0; i + steps < got.size(); ++i) {
    const float distance = std::abs(got[i] - expected[i]);
    farthest = distance <= farthest ? farthest : distance;  // NaN propagates
  }
  CHECK(farthest < (index == 0 ? 1e-6f : 1e-5f));
}

TEST_CASE("multi-worker: Adam in float64 gives the weights of one process, to 1e-9 after 100 steps, with masked steps",
          "[gloo][any_engine]") {
  const int count = GENERATE(2, 3, 4);
  CAPTURE(count);
  const auto train = [](const std::shared_ptr<Workers>& workers) {
    set_floatx(DType::float64);
    set_random_seed(3);
    const StrategyPtr strategy = workers ? StrategyPtr(std::make_shared<MultiWorkerMirroredStrategy>(workers))
                                         : std::make_shared<OneDeviceStrategy>();
    const auto scope = strategy->scope();
    Sequential model({layers::embedding({.input_dim = 6, .output_dim = 4, .mask_zero = true}),
                      layers::lstm({.units = 5, .return_sequences = true}), layers::dense({.units = 1})});
    model.compile({.optimizer = "adam", .loss = "mse"});
    Tensor tokens({rows, 5});
    for (std::size_t i = 0; i < 5 * rows; ++i) tokens.data<float>()[i] = static_cast<float>(i * i % 7 % 6);
    model.fit(tokens, waves({rows, 5, 1}), {.batch_size = batch_size, .epochs = 25, .verbose = 0});
    std::string bits;
    for (const Tensor& weight : model.get_weights()) bits += bytes_of(weight.raw(), weight.bytes());
    set_floatx(DType::float32);
    return bits;
  };
  const Reports one = run_processes(1, [&](int) { return train(nullptr); });
  const Reports several = run_workers(count, train);
  REQUIRE(one.front().size() > 100 * sizeof(double));
  for (const std::string& report : several) {
    REQUIRE(report.size() == one.front().size());
    CHECK(distance<double>(report, one.front()) < 1e-9);
  }
}

TEST_CASE("multi-worker: logs that differ between processes are their mean, for all of them", "[gloo][any_engine]") {
  class Sized : public Sequential {
   public:
    using Sequential::Sequential;
    StepLogs train_step(const StepData& data) override {
      StepLogs logs = Sequential::train_step(data);
      logs.emplace_back("first", ops::mean(data.x[0]));
      return logs;
    }
  };
  const Reports reports = run_strategies(2, [](MultiWorkerMirroredStrategy&) {
    Sized model(std::vector<LayerPtr>{layers::dense({.units = 1})});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const Tensor x = Tensor::from<float>({4, 1}, {1, 3, 5, 11}), y({4, 1});
    return std::to_string(model.train_on_batch(x, y)["first"]);
  });
  for (const std::string& report : reports) CHECK(report == "5.000000");
}

TEST_CASE("multi-worker: a function runs on the rows of each process, and sums over all of them",
          "[gloo][any_engine]") {
  const Reports reports = run_strategies(3, [](MultiWorkerMirroredStrategy& strategy) {
    const Tensor x = Tensor::from<float>({4}, {1, 2, 3, 4});
    const auto made = strategy.run(
        [](std::span<const Value> values) {
          return std::vector{ops::all_reduce(ops::sum(values[0])), ops::sum(values[0])};
        },
        {strategy.split(x)});
    return std::to_string(made[0][0].item()) + ' ' + std::to_string(made[1][0].item());
  });
  CHECK(reports == Reports{"10.000000 3.000000", "10.000000 3.000000", "10.000000 4.000000"});
}

TEST_CASE("multi-worker: gather, reduce and reduce_per_replica combine the tensors of all processes",
          "[gloo][any_engine]") {
  const Reports reports = run_strategies(3, [](MultiWorkerMirroredStrategy& strategy) {
    const auto rank = static_cast<float>(strategy.rank());
    const auto text = [](const Tensor& tensor) {
      std::string numbers = tensor.shape().to_string();
      for (std::int64_t i = 0; i < tensor.size(); ++i) numbers += ' ' + std::to_string(std::lround(tensor.at(i)));
      return numbers + '\n';
    };
    const PerReplica same{Tensor::from<float>({2}, {rank, 3})};
    PerReplica rows{Tensor({strategy.rank(), 1})};  // rank 0 has none
    for (float& each : rows[0].data<float>()) each = rank;
    std::string wrong = "no error";
    try {
      strategy.reduce(ReduceOp::sum, rows);
    } catch (const Error& error) {
      wrong = error.kind() == ErrorKind::shape ? "shape" : error.what();
    }
    return text(strategy.gather(rows)) + text(strategy.gather(same)) + text(strategy.reduce(ReduceOp::sum, same)) +
           text(strategy.reduce(ReduceOp::mean, same)) + text(strategy.reduce_per_replica(same, "first")) +
           text(strategy.reduce_per_replica({Tensor::from<float>({}, {rank})})) +
           text(strategy.reduce_per_replica(rows, "concat")) + wrong;
  });
  for (const std::string& report : reports)
    CHECK(report == "[3, 1] 1 2 2\n[6] 0 3 1 3 2 3\n[2] 3 9\n[2] 1 3\n[2] 0 3\n[] 1\n[3, 1] 1 2 2\nshape");
}

TEST_CASE("multi-worker: another model, or other data, in one of the processes is an error in all of them",
          "[gloo][any_engine]") {
  const auto fit = [](std::int64_t units, std::int64_t count, std::int64_t batch = 8) -> std::string {
    Sequential model({layers::dense({.units = units}), layers::dense({.units = 1})});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    try {
      model.fit(waves({count, 3}), waves({count, 1}), {.batch_size = batch, .epochs = 2, .verbose = 0});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Reports models =
      run_strategies(2, [&](MultiWorkerMirroredStrategy& strategy) { return fit(40 + 40 * strategy.rank(), 8); });
  for (const std::string& report : models) CHECK_THAT(report, ContainsSubstring("the same model in all processes"));
  const auto check_data = [&](std::int64_t first, std::int64_t second, std::int64_t second_batch, const char* text) {
    const Reports reports = run_strategies(2, [&](MultiWorkerMirroredStrategy& strategy) {
      return strategy.rank() == 0 ? fit(4, first) : fit(4, second, second_batch);
    });
    for (const std::string& report : reports) CHECK_THAT(report, ContainsSubstring(text));
  };
  check_data(24, 25, 8, "the number of batches (-1: unknown, -2: no end), 3 in rank 0 and 4 in rank 1");
  check_data(16, 24, 8, "the number of batches (-1: unknown, -2: no end), 2 in rank 0 and 3 in rank 1");
  check_data(16, 20, 10, "the rows of a batch (0: unknown), 8 in rank 0 and 10 in rank 1");
  check_data(17, 24, 8, "the rows of the last batch (0: as the others), 1 in rank 0 and 0 in rank 1");
}

TEST_CASE("multi-worker: BackupAndRestore, and a trial, continue in all processes after a signal to one of them",
          "[gloo]") {
  /// Sends this process a signal in its third epoch, and counts epochs.
  class Ending : public Callback {
   public:
    explicit Ending(int signal) : signal_(signal) {}
    int epochs = 0;
    void on_epoch_begin(int epoch, Logs&) override {
      ++epochs;
      third_ = epoch == 2;
    }
    void on_train_batch_begin(std::int64_t batch, Logs&) override {
      if (signal_ && third_ && batch == 1) ::raise(signal_);
    }

   private:
    int signal_;
    bool third_ = false;
  };
  const auto [signal, is_trial] =
      GENERATE(std::pair(SIGKILL, false), std::pair(SIGTERM, false), std::pair(SIGTERM, true));
  CAPTURE(signal, is_trial);
  const auto name = "etude-gloo-" + std::to_string(::getpid()) + '-' + std::to_string(signal + 100 * is_trial);
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / name;
  /// The number of epochs, a digit, and then the bits of losses and weights.
  const auto run = [&, as_trial = is_trial](int sent, bool saves) {
    return run_strategies(2, [&](MultiWorkerMirroredStrategy& strategy) {
      Sequential model({layers::dense({.units = 4, .activation = "tanh"}), layers::dropout({.rate = 0.2}),
                        layers::dense({.units = 1})});
      model.compile({.optimizer = "adam", .loss = "mse"});
      const auto ending = std::make_shared<Ending>(strategy.rank() == 1 ? sent : 0);
      FitOptions options{.batch_size = 4, .epochs = 4, .verbose = 0, .callbacks = {ending}};
      std::optional<experiment::Context> context;
      if (saves && as_trial)
        options.callbacks.push_back(std::make_shared<experiment::TrainingCallback>(
            context.emplace(experiment::Config{.storage = folder.string()})));
      else if (saves)
        options.callbacks.push_back(
            callbacks::backup_and_restore({.backup_dir = folder.string(), .save_before_preemption = true}));
      HistoryPtr history;
      try {
        history = model.fit(waves({10, 3}), waves({10, 1}), options);
      } catch (const experiment::Preempted&) {
        std::_Exit(experiment::preempted_exit_code);
      }
      std::string report = std::to_string(ending->epochs);
      report += bytes_of((*history)["loss"].data(), 8 * (*history)["loss"].size());
      for (const Tensor& weight : model.get_weights()) report += bytes_of(weight.raw(), weight.bytes());
      return report;
    });
  };
  const Reports uninterrupted = run(0, false), ended = run(signal, true), continued = run(0, true);
  CHECK(ended[1].empty());
  if (signal == SIGKILL)
    CHECK_THAT(ended[0], ContainsSubstring("the process of rank 1 failed"));
  else
    CHECK(ended[0].empty());  // both exit
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(uninterrupted[rank].substr(0, 1) == "4");
    CHECK(continued[rank].substr(0, 1) == "2");
    CHECK((continued[rank].substr(1) == uninterrupted[rank].substr(1)));
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("multi-worker: with preempt.every, a request to one process ends all of them after the same later call",
          "[gloo]") {
  const Reports reports = run_strategies(2, [](MultiWorkerMirroredStrategy& strategy) {
    int calls = 0;
    experiment::Context context(
        {.storage = "trial",
         .preempt = {.requested = [&] { return strategy.rank() == 1 && calls == 2; }, .every = 4},
         .files = std::make_shared<MemoryVfs>()});
    while (++calls < 20 && !context.preempt.should_preempt()) continue;
    return std::to_string(calls);
  });
  CHECK(reports == Reports{"4", "4"});
}

TEST_CASE("multi-worker: fit ends with an error that names a process that was killed", "[gloo]") {
  class Killing : public Callback {
   public:
    void on_train_batch_begin(std::int64_t batch, Logs&) override {
      if (batch == 2) ::raise(SIGKILL);
    }
  };
  const Reports reports = run_strategies(3, [](MultiWorkerMirroredStrategy& strategy) -> std::string {
    Sequential model({layers::dense({.units = 1})});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    FitOptions options{.batch_size = 4, .verbose = 0};
    if (strategy.rank() == 1) options.callbacks = {std::make_shared<Killing>()};
    try {
      model.fit(waves({40, 3}), waves({40, 1}), options);
    } catch (const CollectiveError& error) {
      return std::to_string(error.peer()) + ' ' + error.operation();
    }
    return "no error";
  });
  CHECK(reports == Reports{"1 all_reduce", "", "1 all_reduce"});
}

}  // namespace etude
