#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <limits>
#include <map>
#include <stdexcept>

#include "etude/base/vfs.hpp"
#include "event_reader.hpp"
#include "files_in_memory.hpp"
#include "training_samples.hpp"

// TensorBoard; event_reader reads its files.
namespace etude {
namespace {

using namespace samples;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using testing::Summary;

const Tensor x = waves({10, 3}), y = signs_of(x);

/// Folders of files in memory.
struct Memory {
  std::map<std::string, std::string> files;
  int flushed = 0;

  OpenFile open() {
    return [this](const std::string& path, bool append) {
      REQUIRE_FALSE(append);
      REQUIRE_FALSE(files.contains(path));
      return std::make_unique<File>(*this, files[path]);
    };
  }
  /// The contents of a folder, in the order of the files' names.
  std::vector<Summary> read(const std::string& folder) const {
    std::vector<Summary> all;
    for (const auto& [path, bytes] : files)
      if (path.starts_with(folder + "/events.out.tfevents."))
        for (Summary& event : testing::read_events(bytes)) all.push_back(std::move(event));
    return all;
  }

 private:
  struct File : FileSink {
    Memory& memory;
    std::string& text;
    File(Memory& m, std::string& t) : memory(m), text(t) {}
    bool empty() const override { return true; }
    void append(std::string_view bytes) override { text += bytes; }
    void flush() override { ++memory.flushed; }
  };
};

struct Trained {
  Sequential model{two_dense()};
  Memory memory;
  explicit Trained(std::int64_t steps_per_execution = 1) {
    model.compile({.optimizer = optimizers::sgd({.learning_rate = 0.25}),
                   .loss = "mse",
                   .metrics = {"accuracy"},
                   .steps_per_execution = steps_per_execution});
  }
  CallbackPtr board(TensorBoardOptions options) {
    options.open = memory.open();
    return callbacks::tensorboard(options);
  }
  /// Epochs of 3 batches.
  HistoryPtr fit(std::vector<CallbackPtr> callbacks, int epochs = 2) {
    return model.fit(x, y,
                     {.batch_size = 4,
                      .epochs = epochs,
                      .verbose = 0,
                      .callbacks = std::move(callbacks),
                      .validation_data = Data(x, y)});
  }
};

/// "tag@step", of events whose tag begins so.
Texts tags(const std::vector<Summary>& events, const std::string& start = "") {
  Texts result;
  for (const Summary& event : events)
    if (event.tag.starts_with(start)) result.push_back(event.tag + '@' + std::to_string(event.step));
  return result;
}

}  // namespace

TEST_CASE("tensorboard: each epoch's logs are in train and validation, with the learning rate", "[callbacks]") {
  Trained run;
  const auto history = run.fit({run.board({.log_dir = "logs/a"})});
  const auto train = run.memory.read("logs/a/train"), validation = run.memory.read("logs/a/validation");
  CHECK(run.memory.files.size() == 2);
  CHECK(tags(train) == Texts{"epoch_loss@0", "epoch_accuracy@0", "epoch_learning_rate@0", "epoch_loss@1",
                             "epoch_accuracy@1", "epoch_learning_rate@1"});
  CHECK(tags(validation) == Texts{"evaluation_loss_vs_iterations@3", "evaluation_accuracy_vs_iterations@3",
                                  "epoch_loss@0", "epoch_accuracy@0", "evaluation_loss_vs_iterations@6",
                                  "evaluation_accuracy_vs_iterations@6", "epoch_loss@1", "epoch_accuracy@1"});
  CHECK(train[3].values == std::vector{static_cast<double>(static_cast<float>((*history)["loss"][1]))});
  CHECK(train[2].values == std::vector{0.25});
  CHECK(validation[6].values[0] == Approx((*history)["val_loss"][1]));
  for (const Summary& event : train) {
    CHECK(event.plugin == "scalars");
    CHECK(event.shape.empty());
    CHECK(event.wall_time > 1.6e9);
  }
  CHECK(run.memory.flushed >= 4);
}

TEST_CASE("tensorboard: the learning rate is the optimizer's, also after a callback has reduced it", "[callbacks]") {
  Trained run;
  const auto reduce =
      callbacks::reduce_lr_on_plateau({.monitor = "loss", .factor = 0.5, .patience = 0, .min_delta = 100});
  const auto history = run.fit({reduce, run.board({})});
  CHECK((*history)["learning_rate"] == std::vector{0.25, 0.25});
  std::vector<double> written;
  for (const Summary& event : run.memory.read("logs/train"))
    if (event.tag == "epoch_learning_rate") written.push_back(event.values.at(0));
  CHECK(written == std::vector{0.25, 0.125});
}

TEST_CASE("tensorboard: batches are written at update_freq, by default never", "[callbacks]") {
  const auto written = [](UpdateFrequency update_freq, std::int64_t steps_per_execution = 1) {
    Trained run(steps_per_execution);
    run.fit({run.board({.update_freq = update_freq})});
    return tags(run.memory.read("logs/train"), "batch_loss");
  };
  CHECK(written("epoch").empty());
  CHECK(written("batch").size() == 6);
  CHECK(written(1) ==
        Texts{"batch_loss@1", "batch_loss@2", "batch_loss@3", "batch_loss@4", "batch_loss@5", "batch_loss@6"});
  CHECK(written(2) == Texts{"batch_loss@2", "batch_loss@4", "batch_loss@6"});
  CHECK(written(4) == Texts{"batch_loss@4"});
  // Executions of 2 and 1 steps: values due within one are written at its end.
  CHECK(written(1, 2) == Texts{"batch_loss@2", "batch_loss@3", "batch_loss@5", "batch_loss@6"});
  CHECK(written(4, 2) == Texts{"batch_loss@5"});
}

TEST_CASE("tensorboard: a resumed fit continues the numbers of its batches", "[callbacks]") {
  const testing::FilesInMemory files;
  Trained interrupted, resumed;
  const auto backup = [] { return callbacks::backup_and_restore({.backup_dir = "backup"}); };
  const auto fails = callbacks::lambda({.on_epoch_begin = [](int epoch, Logs&) {
    if (epoch == 1) throw std::runtime_error("interrupted");
  }});
  CHECK_THROWS(interrupted.fit({interrupted.board({.update_freq = "batch"}), backup(), fails}));
  resumed.fit({resumed.board({.update_freq = "batch"}), backup()});
  CHECK(tags(interrupted.memory.read("logs/train"), "batch_loss") ==
        Texts{"batch_loss@1", "batch_loss@2", "batch_loss@3"});
  CHECK(tags(resumed.memory.read("logs/train"), "batch_loss") == Texts{"batch_loss@4", "batch_loss@5", "batch_loss@6"});
}

TEST_CASE("tensorboard: without update_freq the logs of batches are not read from the device", "[callbacks]") {
  Trained run;
  Logs unread;
  run.fit({run.board({}), callbacks::lambda({.on_train_batch_end = [&](std::int64_t step, Logs& logs) {
             unread = step == 0 ? logs : unread;
           }})});
  CHECK_THAT(error_of([&] { static_cast<void>(unread["loss"]); }), ContainsSubstring("read after its step"));
}

TEST_CASE("tensorboard: steps per second are written on request", "[callbacks]") {
  Trained run;
  run.fit({run.board({.write_steps_per_second = true, .update_freq = 3})});
  const auto train = run.memory.read("logs/train");
  CHECK(tags(train, "epoch_steps") == Texts{"epoch_steps_per_second@0", "epoch_steps_per_second@1"});
  CHECK(tags(train, "batch_steps") == Texts{"batch_steps_per_second@3", "batch_steps_per_second@6"});
  for (const Summary& event : train)
    if (event.tag.ends_with("_per_second")) CHECK(event.values.at(0) > 0);
}

TEST_CASE("tensorboard: histograms of the weights have 30 bins, at histogram_freq", "[callbacks]") {
  Trained run;
  run.fit({run.board({.histogram_freq = 2})}, 3);
  std::vector<Summary> histograms;
  for (const Summary& event : run.memory.read("logs/train"))
    if (event.plugin == "histograms") histograms.push_back(event);
  const std::vector<Variable> weights = run.model.weights();
  REQUIRE(histograms.size() == 2 * weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Summary& last = histograms[weights.size() + i];
    CHECK(last.tag == weights[i].name() + "/histogram");
    CHECK(last.step == 2);
    const std::vector<double> values = numbers(weights[i].value());
    const std::size_t bins = values.size() == 1 ? 1 : 30;
    REQUIRE(last.shape == std::vector<std::uint64_t>{bins, 3});
    double count = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const double left = last.values[3 * bin], right = last.values[3 * bin + 1];
      const bool end = bin + 1 == bins;
      CHECK(left < right);
      if (!end) CHECK(right == last.values[3 * bin + 3]);
      count += last.values[3 * bin + 2];
    }
    CHECK(count == static_cast<double>(values.size()));
    CHECK(last.values.front() <= std::ranges::min(values));
    CHECK(last.values[3 * bins - 2] >= std::ranges::max(values));
  }
}

TEST_CASE("tensorboard: a histogram counts each value in its bin, and finite values only", "[callbacks]") {
  Memory memory;
  EventFile file(memory.open(), "logs");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values{0, 0.5, 29.5, 30, infinity, 7.25, std::numeric_limits<double>::quiet_NaN()};
  file.add_histogram("mixed", values, 1);
  file.add_histogram("equal", std::vector<double>(4, 2.5), 1);
  file.add_histogram("none", std::vector{infinity}, 1);
  const auto events = memory.read("logs");
  REQUIRE(tags(events) == Texts{"mixed@1", "equal@1"});
  std::map<double, double> counted;
  for (std::size_t i = 0; i < 90; i += 3)
    if (events[0].values[i + 2] > 0) counted[events[0].values[i]] = events[0].values[i + 2];
  CHECK(counted == std::map<double, double>{{0, 2}, {7, 1}, {29, 2}});
  CHECK(events[1].values == std::vector<double>{2, 3, 4});
}

TEST_CASE("tensorboard: evaluate writes against iterations; each loop has its own files", "[callbacks]") {
  Trained run;
  const auto board = run.board({});
  run.fit({board}, 1);
  run.model.evaluate(x, y, {.verbose = 0, .callbacks = {board}});
  CHECK(tags(run.memory.read("logs/validation")).back() == "evaluation_accuracy_vs_iterations@3");
  run.fit({board}, 1);
  CHECK(run.memory.files.size() == 5);
}

TEST_CASE("tensorboard: a fit creates its folders in the system's files", "[callbacks]") {
  const auto folder = std::filesystem::temp_directory_path() / "etude_tensorboard_test.tmp";
  std::vector<std::string> paths;
  const OpenFile open = [&](const std::string& path, bool append) {
    paths.push_back(path);
    return open_file({}, path, append, "tensorboard");
  };
  Trained run;
  run.fit({callbacks::tensorboard({.log_dir = folder.string(), .open = open})}, 1);
  REQUIRE(paths.size() == 2);
  for (const std::string& path : paths) {
    const auto bytes = read_file(path);
    const auto events = testing::read_events({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    CHECK(tags(events, "epoch_loss") == Texts{"epoch_loss@0"});
    std::filesystem::remove(path);
  }
  for (const auto& made : {folder / "train", folder / "validation", folder}) CHECK(std::filesystem::remove(made));
}

TEST_CASE("tensorboard: unsupported options are errors at once", "[callbacks]") {
  const auto error = [](const TensorBoardOptions& options) {
    return error_of([&] { callbacks::tensorboard(options); });
  };
  CHECK_THAT(error({.write_graph = true}), ContainsSubstring("[TensorBoard] write_graph is not supported - expected"));
  CHECK_THAT(error({.write_images = true}), ContainsSubstring("[TensorBoard] write_images"));
  CHECK_THAT(error({.profile_batch = 2}), ContainsSubstring("[TensorBoard] profile_batch"));
  CHECK_THAT(error({.embeddings_freq = 1}), ContainsSubstring("[TensorBoard] embeddings_freq"));
  CHECK_THAT(error({.histogram_freq = -1}), ContainsSubstring("[TensorBoard] histogram_freq = -1"));
  CHECK_THAT(error_of([] { UpdateFrequency("step"); }), ContainsSubstring("update_freq = \"step\""));
  CHECK_THAT(error_of([] { UpdateFrequency(0); }), ContainsSubstring("update_freq = 0"));
}

TEST_CASE("tensorboard: a fit that ends with an error closes its files", "[callbacks]") {
  Trained run;
  int open_now = 0;
  struct Counted : FileSink {
    int& count;
    explicit Counted(int& now) : count(now) { ++count; }
    ~Counted() override { --count; }
    bool empty() const override { return true; }
    void append(std::string_view) override {}
    void flush() override {}
  };
  const auto board = callbacks::tensorboard(
      {.update_freq = "batch", .open = [&](const std::string&, bool) { return std::make_unique<Counted>(open_now); }});
  const auto failing = callbacks::lambda({.on_epoch_end = [&](int, Logs&) {
    CHECK(open_now == 1);
    throw std::runtime_error("mine");
  }});
  CHECK_THROWS_WITH(run.model.fit(x, y, {.verbose = 0, .callbacks = {board, failing}}), "mine");
  CHECK(open_now == 0);
}

#ifndef __EMSCRIPTEN__  // its clock counts milliseconds

TEST_CASE("tensorboard: two files of the same second have distinct names without a process number", "[callbacks]") {
  Memory memory;
  TensorBoardOptions options;
  options.open = memory.open();
  for (int i = 0; i < 2; ++i) {
    Trained run;
    run.model.fit(x, y, {.verbose = 0, .callbacks = {callbacks::tensorboard(options)}});
  }
  std::vector<std::string> names;
  for (const auto& [path, bytes] : memory.files) names.push_back(path.substr(0, path.size() - 10));  // .000000.v2
  REQUIRE(names.size() == 2);
  CHECK(names[0] != names[1]);
}

#endif

}  // namespace etude
