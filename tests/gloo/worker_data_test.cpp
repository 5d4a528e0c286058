#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <csignal>
#include <cstring>
#include <etude/etude.hpp>
#include <filesystem>

#include "processes.hpp"

// Data that each process reads alone: auto_shard_policy "off" and "file", and DatasetCreator. The rows of a step are
// those of all processes together, also after the data of some of them has ended.
namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;

/// Row i of the data of all processes: numbers, a target and a weight that depend on i.
Batch rows_from(std::int64_t first, std::int64_t last) {
  Batch batch{{Tensor({last - first, 3})}, {Tensor({last - first, 1})}, {Tensor({last - first})}};
  for (std::int64_t i = first; i < last; ++i) {
    const auto row = static_cast<std::size_t>(i - first);
    for (std::size_t j = 0; j < 3; ++j)
      batch.x[0].data<float>()[3 * row + j] = std::sin(0.7F * static_cast<float>(3 * i + static_cast<int>(j)));
    batch.y[0].data<float>()[row] = std::cos(static_cast<float>(i));
    batch.sample_weight[0].data<float>()[row] = static_cast<float>(1 + i % 3);
  }
  return batch;
}

Dataset dataset_from(std::int64_t first, std::int64_t last) {
  return Dataset::from_tensor_slices(rows_from(first, last));
}

/// Consecutive rows of all data.
struct Rows {
  std::int64_t first, last;
};

/// The rows that a process has in its steps, if it reads batches of `size` rows and divides each into `parts`: evenly,
/// the first parts with one row more.
std::vector<Rows> steps_of(Rows own, std::int64_t size, std::int64_t parts) {
  std::vector<Rows> steps;
  for (std::int64_t first = own.first; first < own.last; first += size) {
    const std::int64_t count = std::min(size, own.last - first);
    std::int64_t at = first;
    for (std::int64_t part = 0; part < std::min(parts, count); ++part) {
      const std::int64_t next = at + count / parts + (part < count % parts ? 1 : 0);
      steps.push_back({at, next});
      at = next;
    }
  }
  return steps;
}

/// The batches of one process that has the rows of all of them in each step.
Dataset joined(const std::vector<std::vector<Rows>>& of_processes) {
  std::vector<Batch> batches;
  for (std::size_t step = 0;; ++step) {
    std::vector<Batch> parts;
    std::int64_t rows = 0;
    for (const std::vector<Rows>& steps : of_processes)
      if (step < steps.size()) rows += parts.emplace_back(rows_from(steps[step].first, steps[step].last)).size();
    if (rows == 0) break;
    Batch& whole = batches.emplace_back(rows_from(0, rows));
    std::int64_t at = 0;
    for (const Batch& part : parts) {
      std::vector<Tensor> from;
      for_each_tensor(part, [&](const Tensor& tensor) { from.push_back(tensor); });
      std::size_t i = 0;
      for_each_tensor(whole, [&](const Tensor& tensor) {
        std::copy_n(from[i].raw(), from[i].bytes(), Tensor(tensor).rows(at, at + part.size()).raw());
        ++i;
      });
      at += part.size();
    }
  }
  return Dataset::from_generator([batches] {
    return [batches, i = std::size_t{0}]() mutable {
      return i < batches.size() ? std::optional(batches[i++]) : std::nullopt;
    };
  });
}

/// The weights, losses, metrics and predictions of a model that trains on batches, and then evaluates and predicts
/// them.
std::vector<float> numbers_of(const Data& data, std::optional<std::int64_t> steps = {}) {
  Sequential model({layers::dense({.units = 6}), layers::batch_normalization({.synchronized = true}),
                    layers::activation("tanh"), layers::dropout({.rate = 0.2}), layers::dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}, .weighted_metrics = {"mse"}});
  const HistoryPtr history = model.fit(data, {.epochs = 2, .verbose = 0, .steps_per_epoch = steps});
  const Logs logs = model.evaluate(data, {.verbose = 0, .steps = steps});
  const Tensor predicted = model.predict(data, {.verbose = 0, .steps = steps});
  std::vector<float> all;
  const auto add = [&](const Tensor& tensor) {
    const auto numbers = tensor.data<float>();
    all.insert(all.end(), numbers.begin(), numbers.end());
  };
  for (const Tensor& weight : model.get_weights()) add(weight);
  add(predicted);
  for (const double loss : (*history)["loss"]) all.push_back(static_cast<float>(loss));
  for (const char* name : {"loss", "mae", "mse"}) all.push_back(static_cast<float>(logs[name]));
  return all;
}

std::string report_of(const std::vector<float>& numbers) { return bytes_of(numbers.data(), 4 * numbers.size()); }

/// Runs `work` in the scope of the strategy, in several processes with the same seed.
Reports run_strategies(int count, const std::function<std::string(MultiWorkerMirroredStrategy&)>& work) {
  return run_workers(count, [&](const std::shared_ptr<Workers>& workers) {
    set_random_seed(3);
    const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(workers);
    const auto scope = strategy->scope();
    return work(*strategy);
  });
}

/// Checks that all processes have the same numbers, and that they are those of one process that trains on `expected`.
void check_numbers(const Reports& several, const Dataset& expected) {
  const Reports one = run_processes(1, [&](int) {
    set_random_seed(3);
    return report_of(numbers_of(expected));
  });
  for (const std::string& report : several) CHECK((report == several.front()));
  REQUIRE(one.front().size() > 4 * 40);
  REQUIRE(several.front().size() == one.front().size());
  CHECK(distance<float>(several.front(), one.front()) < 1e-5F);
}

/// What the processes say of an error in fit.
Reports errors_of(int count, const std::function<Data(int rank)>& data, bool run_eagerly = false) {
  return run_strategies(count, [&](MultiWorkerMirroredStrategy& strategy) -> std::string {
    try {
      Sequential model({layers::dense({.units = 1})});
      model.compile({.optimizer = "sgd", .loss = "mse", .run_eagerly = run_eagerly});
      model.fit(data(strategy.rank()), {.verbose = 0});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  });
}

const DatasetOptions off{.auto_shard_policy = "off"}, by_file{.auto_shard_policy = "file"};

}  // namespace

TEST_CASE("\"off\": the rows of all processes are one batch, until the data of the last process ends",
          "[gloo][any_engine]") {
  const auto own = GENERATE(std::vector<Rows>{{0, 8}, {8, 16}}, std::vector<Rows>{{0, 10}, {10, 15}, {15, 17}},
                            std::vector<Rows>{{0, 1}, {1, 9}, {9, 14}});
  constexpr std::int64_t size = 6;
  const auto count = static_cast<int>(own.size());
  CAPTURE(count, own[0].last);
  std::vector<std::vector<Rows>> steps;
  for (const Rows& rows : own) steps.push_back(steps_of(rows, size, count));
  const Reports several = run_strategies(count, [&](MultiWorkerMirroredStrategy& strategy) {
    const Rows rows = own[static_cast<std::size_t>(strategy.rank())];
    return report_of(numbers_of(dataset_from(rows.first, rows.last).batch(size).with_options(off)));
  });
  check_numbers(several, joined(steps));
}

TEST_CASE("DatasetCreator: each process gets its part of the pipelines, in batches of its own rows",
          "[gloo][any_engine]") {
  const Reports several = run_strategies(2, [&](MultiWorkerMirroredStrategy&) {
    const DatasetCreator creator{[](const InputContext& context) {
      return dataset_from(0, 12)
          .shard(context.num_input_pipelines, context.input_pipeline_id)
          .batch(context.get_per_replica_batch_size(4))
          .repeat();
    }};
    return report_of(numbers_of(creator, 3));
  });
  const std::vector<Rows> even{{0, 1}, {4, 5}, {8, 9}}, odd{{1, 2}, {5, 6}, {9, 10}};
  const std::vector<Rows> even_next{{2, 3}, {6, 7}, {10, 11}}, odd_next{{3, 4}, {7, 8}, {11, 12}};
  check_numbers(several, joined({even, even_next, odd, odd_next}));
}

TEST_CASE("\"file\" and \"auto\": each process reads its files only, and predict reads all of them in their order",
          "[gloo][any_engine]") {
  const std::string policy = GENERATE("file", "auto");
  CAPTURE(policy);
  const Reports reports = run_strategies(2, [&](MultiWorkerMirroredStrategy&) {
    std::string read;
    const Dataset data = Dataset::from_files({"0", "1", "2"},
                                             [&](const std::string& path) {
                                               read += path;
                                               return dataset_from(4 * std::stoi(path), 4 * std::stoi(path) + 4);
                                             })
                             .with_options({.auto_shard_policy = policy})
                             .map([](Batch element) { return element; })
                             .batch(2);
    Sequential model({layers::dense({.units = 1, .kernel_initializer = "ones"})});
    model.compile({.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = "mse"});
    const HistoryPtr history = model.fit(data, {.verbose = 0});
    const std::string fitted = std::exchange(read, {});
    const Tensor predicted = model.predict(data, {.verbose = 0});
    const Tensor expected = model.predict(rows_from(0, 12).x[0], {.verbose = 0});
    const bool same = std::memcmp(predicted.raw(), expected.raw(), expected.bytes()) == 0;
    return fitted + ' ' + read + (same ? " in order " : " out of order ") + std::to_string((*history)["loss"][0]);
  });
  CHECK(reports[0].starts_with("02 012 in order "));
  CHECK(reports[1].starts_with("1 012 in order "));
  CHECK(reports[0].substr(3) == reports[1].substr(2));
}

TEST_CASE("\"auto\" with fewer files than processes, and \"data\": every process reads everything",
          "[gloo][any_engine]") {
  const auto [policy, files] = GENERATE(std::pair("auto", 2), std::pair("data", 4));
  CAPTURE(policy);
  const auto data = [&](std::string* read) {
    std::vector<std::string> paths;
    for (int i = 0; i < files; ++i) paths.push_back(std::to_string(i));
    return Dataset::from_files(paths,
                               [read](const std::string& path) {
                                 if (read) *read += path;
                                 return dataset_from(4 * std::stoi(path), 4 * std::stoi(path) + 4);
                               })
        .batch(5)
        .with_options({.auto_shard_policy = policy});
  };
  const Reports several =
      run_strategies(3, [&](MultiWorkerMirroredStrategy&) { return report_of(numbers_of(data(nullptr))); });
  check_numbers(several, data(nullptr));
}

TEST_CASE("data of processes that does not fit together is an error in all of them, which names the rank",
          "[gloo][any_engine]") {
  const auto each = [](const Reports& reports, const std::string& text) {
    for (const std::string& report : reports) CHECK_THAT(report, ContainsSubstring(text));
  };
  each(errors_of(2, [](int rank) { return dataset_from(0, 4).take(rank == 1 ? 0 : 4).batch(2).with_options(off); }),
       "no batch in rank 1");
  each(errors_of(2,
                 [](int rank) { return dataset_from(0, 8).batch(2).with_options(rank == 0 ? off : DatasetOptions()); }),
       "auto_shard_policy 3 in rank 0 and 0 in rank 1");
  const auto files = [](int count) {
    return Dataset::from_files(std::vector<std::string>(static_cast<std::size_t>(count), "a"),
                               [](const std::string&) { return dataset_from(0, 8); })
        .batch(2);
  };
  each(errors_of(2, [&](int rank) { return files(3 + rank); }), "the number of files, 3 in rank 0 and 4 in rank 1");
  each(errors_of(2, [&](int) { return files(1).with_options(by_file); }), "a dataset of 1 files for 2 processes");
  each(errors_of(2,
                 [&](int rank) {
                   return dataset_from(0, 8)
                       .batch(2)
                       .map([=](Batch element) {
                         if (rank == 1) element.y[0] = Tensor({element.size(), 2});
                         return element;
                       })
                       .with_options(off);
                 }),
       "a batch of rank 1 that differs from that of rank 0");
  each(errors_of(
           2, [&](int) { return dataset_from(0, 8).batch(2).with_options(off); }, true),
       "data of which each process has its own part");
  const Reports failed = errors_of(3, [](int rank) {
    return dataset_from(0, 20)
        .batch(3)
        .map([=, made = 0](Batch element) mutable {
          if (++made == 3 && rank == 2) throw Error(ErrorKind::io, "[disk] it is damaged");
          return element;
        })
        .with_options(off);
  });
  CHECK_THAT(failed[0], ContainsSubstring("rank 2 cannot read its data"));
  CHECK_THAT(failed[1], ContainsSubstring("rank 2 cannot read its data"));
  CHECK(failed[2] == "[disk] it is damaged");
}

TEST_CASE("data that every process reads is an error in all of them as soon as it differs in one",
          "[gloo][any_engine]") {
  const auto check_errors = [](const std::function<Data(int rank)>& data, const std::string& text) {
    for (const std::string& report : errors_of(2, data)) CHECK_THAT(report, ContainsSubstring(text));
  };
  /// Batches of two rows.
  const auto generated = [](std::int64_t batches) {
    return Data([=, made = std::int64_t{0}]() mutable -> std::optional<Batch> {
      if (made == batches) return std::nullopt;
      ++made;
      return rows_from(2 * made, 2 * made + 2);
    });
  };
  check_errors([](int rank) { return dataset_from(0, 16 + 8 * rank).batch(8); },
               "the number of batches (-1: unknown, -2: no end), 2 in rank 0 and 3 in rank 1");
  check_errors([](int rank) { return dataset_from(0, 17 + 7 * rank).batch(8); },
               "a batch with 1 rows in rank 0 and 8 in rank 1");
  check_errors([&](int rank) { return generated(3 - rank); }, "a batch with 2 rows in rank 0 and -1 in rank 1");
  const Reports failed = errors_of(2, [&](int rank) {
    return Data([=, made = 0]() mutable -> std::optional<Batch> {
      if (++made == 3 && rank == 1) throw Error(ErrorKind::io, "[disk] it is damaged");
      return rows_from(made, made + 2);
    });
  });
  CHECK_THAT(failed[0], ContainsSubstring("rank 1 cannot read its data"));
  CHECK(failed[1] == "[disk] it is damaged");
}

TEST_CASE("a generator of which every process reads all batches gives the numbers of one process",
          "[gloo][any_engine]") {
  const auto data = [] {
    return Dataset::from_generator([] {
      return [made = std::int64_t{0}]() mutable {
        ++made;
        return made < 4 ? std::optional(rows_from(5 * made, 5 * made + made)) : std::nullopt;
      };
    });
  };
  check_numbers(run_strategies(2, [&](MultiWorkerMirroredStrategy&) { return report_of(numbers_of(data())); }), data());
}

TEST_CASE("BackupAndRestore continues data of each process within an epoch, also where some of it has ended",
          "[gloo]") {
  const std::int64_t end = GENERATE(1, 3);
  CAPTURE(end);
  /// Ends all processes in the second epoch.
  class Ending : public Callback {
   public:
    std::int64_t at = -1;
    int steps = 0;
    void on_epoch_begin(int epoch, Logs&) override { epoch_ = epoch; }
    void on_train_batch_end(std::int64_t batch, Logs&) override {
      ++steps;
      if (epoch_ == 1 && batch == at) ::raise(SIGTERM);
    }

   private:
    int epoch_ = 0;
  };
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("etude-worker-data-" + std::to_string(::getpid()));
  const auto run = [&](std::int64_t at, bool saves) {
    return run_strategies(2, [&](MultiWorkerMirroredStrategy& strategy) {
      const int rank = strategy.rank();
      const Dataset data = dataset_from(rank == 0 ? 0 : 8, rank == 0 ? 8 : 11).shuffle(8, {.seed = 5}).batch(4);
      Sequential model({layers::dense({.units = 4}), layers::dropout({.rate = 0.2}), layers::dense({.units = 1})});
      model.compile({.optimizer = "adam", .loss = "mse"});
      const auto ending = std::make_shared<Ending>();
      if (rank == 1) ending->at = at;
      FitOptions options{.epochs = 3, .verbose = 0, .callbacks = {ending}};
      if (saves)
        options.callbacks.push_back(
            callbacks::backup_and_restore({.backup_dir = folder.string(), .save_before_preemption = true}));
      model.fit(data.with_options(off), options);
      std::string report = std::to_string(ending->steps) + ' ';
      for (const Tensor& weight : model.get_weights()) report += bytes_of(weight.raw(), weight.bytes());
      return report;
    });
  };
  // 4 steps an epoch: rank 0 has 8 rows, in 4 steps of 2; rank 1 has 3 rows, in steps of 2 and 1.
  const Reports uninterrupted = run(-1, false), ended = run(end, true), continued = run(-1, true);
  CHECK(ended == Reports{"", ""});
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(uninterrupted[rank].substr(0, 3) == "12 ");
    CHECK(continued[rank].substr(0, 2) == std::to_string(4 - end - 1 + 4) + ' ');
    CHECK((continued[rank].substr(2) == uninterrupted[rank].substr(3)));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace etude
