#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "coordinator/parameter_servers.hpp"

// ParameterServerStrategy: fit and evaluate of a chief, with workers and parameter servers in processes of their own.
namespace etude {
namespace {

using namespace testing;

/// Sets another learning rate in each epoch.
class Rates : public Callback {
 public:
  Needs needs(Hook) const override { return Needs::nothing; }
  void on_epoch_begin(int epoch, Logs&) override { model().optimizer().set_learning_rate(0.02 / (1 + epoch)); }
};

/// Lists the epochs that begin.
class BegunEpochs : public Callback {
 public:
  std::string text;
  Needs needs(Hook) const override { return Needs::nothing; }
  void on_epoch_begin(int epoch, Logs&) override { text += std::to_string(epoch) + ' '; }
};

/// Kills a process when an epoch begins.
class Killer : public Callback {
 public:
  Killer(std::filesystem::path file, int at) : file_(std::move(file)), at_(at) {}
  Needs needs(Hook) const override { return Needs::nothing; }
  void on_epoch_begin(int epoch, Logs&) override {
    pid_t process = 0;
    std::ifstream(file_) >> process;
    if (epoch == at_) ::kill(process, SIGKILL);
  }

 private:
  std::filesystem::path file_;  ///< its number
  int at_;
};

FitOptions validated(int epochs) {
  FitOptions result = options(epochs);
  result.steps_per_epoch = 4;  // not a whole pass, so that an epoch continues the one before it
  result.callbacks = {std::make_shared<Rates>()};
  result.validation_data = Data(train);
  result.validation_steps = 4;
  return result;
}

std::string bits_of(const std::vector<Variable>& variables) {
  std::string bits;
  for (const Variable& variable : variables) {
    const Tensor value = variable.value();
    bits += bytes_of(value.raw(), value.bytes());
  }
  return bits;
}

/// What differs between two models of the same layers after training: empty if nothing.
std::string difference(const Model& one, const Model& other) {
  std::string text;
  if (bits_of(one.variables()) != bits_of(other.variables())) text += "variables ";
  if (bits_of(one.optimizer().variables()) != bits_of(other.optimizer().variables())) text += "optimizer ";
  return text;
}

/// A folder that is removed at the end.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "etude_servers_XXXXXX").string();
    if (!::mkdtemp(name.data())) std::abort();
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

struct Scenario {
  const char* name;
  Program program;
};

std::vector<LayerPtr> many_layers() {
  return {layers::dense({.units = 8, .activation = "relu", .kernel_regularizer = "l2"}), layers::batch_normalization(),
          layers::dropout({.rate = 0.25}), layers::dense({.units = 1})};
}

const std::vector<Scenario>& scenarios() {
  const auto momentum = [] { return optimizers::sgd({.learning_rate = 0.02, .momentum = 0.9}); };
  const auto clipped = [] { return optimizers::adam({.learning_rate = 0.02, .clipvalue = 0.05, .use_ema = true}); };
  static const std::vector<Scenario> all{
      {"Adam", {}},
      {"BatchNormalization, Dropout, momentum, two steps in each execution",
       {.layers = many_layers, .optimizer = momentum, .steps_per_execution = 2}},
      {"three parts of each variable", {.layers = many_layers, .partitioner = fixed_shards_partitioner(3)}},
      {"parts of 64 bytes, averages of the weights",
       {.optimizer = clipped, .partitioner = min_size_partitioner(64, 4), .servers = 3}}};
  return all;
}

}  // namespace

TEST_CASE("ParameterServerStrategy: with one worker, fit gives the bits of one process, parts of variables included",
          "[parameter_servers]") {
  for (const auto& [name, program] : scenarios()) {
    CAPTURE(name);
    const Reports reports = run_cluster(program, [&](Sequential& model) {
      const HistoryPtr history = model.fit(train, validated(3));
      std::string text;
      const auto alone = std::make_shared<OneDeviceStrategy>();
      const auto scope = alone->scope();
      const auto expected = program.model();
      const HistoryPtr same = expected->fit(train, validated(3));
      text += difference(model, *expected);
      for (const auto& [log, values] : same->history())
        if (!history->contains(log) || (*history)[log] != values) text += log + ' ';
      if ((*history)["loss"].back() >= (*history)["loss"].front()) text += "no progress ";
      return "differences: " + text;
    });
    CHECK(reports[0] == "differences: ");
    for (std::size_t process = 1; process < reports.size(); ++process) CHECK(reports[process] == "ended");
  }
}

TEST_CASE("ParameterServerStrategy: evaluate gives the numbers of one process, by workers or by the chief",
          "[parameter_servers]") {
  const Reports reports = run_cluster({}, [](Sequential& model) {
    // evaluate accepts a callback that reads only after training batches.
    const Logs by_worker =
        model.evaluate(train, {.verbose = 0, .steps = steps, .callbacks = {callbacks::terminate_on_nan()}});
    model.fit(train, options(1));
    const Logs trained = model.evaluate(train, {.verbose = 0, .steps = steps});
    const Batch all = samples();
    const Logs by_chief = model.evaluate(all.x[0], all.y[0], {.batch_size = batch_size, .verbose = 0});
    std::string text = trained.values() == by_chief.values() ? "same" : "different";
    text += trained["loss"] < by_worker["loss"] ? " better " : " worse ";
    return text + model.predict(all.x[0], {.verbose = 0}).shape().to_string();
  });
  CHECK(reports == Reports{"same better [48, 1]", "ended", "ended", "ended"});
}

TEST_CASE("ParameterServerStrategy: two workers train one model, each with the InputContext of its own pipeline",
          "[parameter_servers]") {
  static bool is_worker = false;
  Program program{.workers = 2};
  program.datasets = {{.dataset_fn =
                           [](const InputContext& context) {
                             const std::string id = std::to_string(context.input_pipeline_id);
                             if (is_worker)
                               std::ofstream(std::getenv("ETUDE_TEST_CONTEXT") + id)
                                   << id << " of " << context.num_input_pipelines;
                             return batches(context).map([](Batch element) {
                               std::this_thread::sleep_for(milliseconds(5));  // so that both take part
                               return element;
                             });
                           },
                       .name = "train"}};
  const Folder folder;
  ::setenv("ETUDE_TEST_CONTEXT", (folder.path / "context").c_str(), 1);
  const Reports reports = run_cluster(
      program,
      [&](Sequential& model) {
        FitOptions own = options(10);
        own.steps_per_epoch = 40;
        const HistoryPtr history = model.fit(train, own);
        return std::string((*history)["loss"].back() < 0.5 * (*history)["loss"].front() ? "learned" : "not learned");
      },
      [](const ServerCluster& own) { is_worker = own.task == "worker"; });
  CHECK(reports == Reports{"learned", "ended", "ended", "ended", "ended"});
  for (const std::string worker : {"0", "1"}) {
    std::string text;
    std::ifstream file(folder.path / ("context" + worker));
    std::getline(file, text);
    CHECK(text == worker + " of 2");
  }
}

TEST_CASE("ParameterServerStrategy: fit continues without a worker that is killed", "[parameter_servers]") {
  static bool mortal = false;
  static int elements = 0;
  Program program{.workers = 2};
  program.datasets = {{.dataset_fn =
                           [](const InputContext& context) {
                             return batches(context).map([](Batch element) {
                               if (mortal && ++elements == 20) ::raise(SIGKILL);
                               std::this_thread::sleep_for(milliseconds(5));
                               return element;
                             });
                           },
                       .name = "train"}};
  const Reports reports = run_cluster(
      program,
      [](Sequential& model) {
        FitOptions own = options(10);
        own.steps_per_epoch = 60;
        const HistoryPtr history = model.fit(train, own);
        std::string text = std::to_string(history->epoch().size());
        return text + ((*history)["loss"].back() < 0.5 * (*history)["loss"].front() ? " learned" : " not learned");
      },
      [](const ServerCluster& own) { mortal = own.task == "worker" && own.index == 0; });
  CHECK(reports == Reports{"10 learned", "", "ended", "ended", "ended"});
}

TEST_CASE(
    "ParameterServerStrategy: a killed server is an UnavailableError, and a new run continues from the checkpoint",
    "[parameter_servers]") {
  const Folder folder;
  const std::filesystem::path process_of_server = folder.path / "process";
  const auto backup = [&] {
    return callbacks::backup_and_restore({.backup_dir = (folder.path / "backup").string(), .delete_checkpoint = false});
  };
  const auto before = [&](const ServerCluster& own) {
    if (own.task == "ps" && own.index == 1) std::ofstream(process_of_server) << ::getpid();
  };
  Program program{.layers = many_layers, .partitioner = fixed_shards_partitioner(2)};
  const Reports first = run_cluster(
      program,
      [&](Sequential& model) -> std::string {
        FitOptions own = options(4);
        own.callbacks = {backup(), std::make_shared<Killer>(process_of_server, 2)};
        try {
          model.fit(train, own);
        } catch (const UnavailableError& error) {
          return error.task() + ' ' + std::to_string(error.index());
        }
        return "no error";
      },
      before);
  CHECK(first[0] == "ps 1");
  CHECK(first[3].empty());

  program.servers = 3;  // the checkpoint does not depend on their number
  const Reports second = run_cluster(program, [&](Sequential& model) {
    FitOptions own = options(4);
    const auto begun = std::make_shared<BegunEpochs>();
    own.callbacks = {backup(), begun};
    model.fit(train, own);
    const auto alone = std::make_shared<OneDeviceStrategy>();
    const auto scope = alone->scope();
    const auto expected = program.model();
    expected->fit(train, options(4));
    return begun->text + difference(model, *expected);
  });
  CHECK(second[0] == "2 3 ");
}

}  // namespace etude
