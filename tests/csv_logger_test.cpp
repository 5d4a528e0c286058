#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <limits>
#include <utility>

#include "etude/base/vfs.hpp"
#include "etude/callbacks/detail/output.hpp"
#include "interrupted_runs.hpp"
#include "scratch_folder.hpp"
#include "training_samples.hpp"

// CSVLogger, and the numbers and files that callbacks write: rule C-9.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

const Tensor x = waves({8, 3}), y = signs_of(x);
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A file in memory, which starts empty unless it is appended to.
struct Memory {
  std::string text, path;
  int opened = 0, flushed = 0, open_now = 0;

  OpenFile open() {
    return [this](const std::string& given, bool append) {
      if (!append) text.clear();
      path = given;
      ++opened;
      return std::make_unique<File>(*this);
    };
  }

 private:
  struct File : FileSink {
    Memory& memory;
    bool began_empty;
    explicit File(Memory& m) : memory(m), began_empty(m.text.empty()) { ++memory.open_now; }
    ~File() override { --memory.open_now; }
    bool empty() const override { return began_empty; }
    void append(std::string_view bytes) override { memory.text += bytes; }
    void flush() override { ++memory.flushed; }
  };
};

/// Fits with the logs of a test.
struct Scripted {
  Sequential model{two_dense()};
  Scripted() { model.compile(mse()); }
  void fit(const CallbackPtr& logger, std::vector<Logs> epochs) {
    for (const Logs& logs : epochs) {
      Logs given = logs;
      if (&logs == &epochs.front()) logger->on_train_begin(given);
      logger->on_epoch_end(static_cast<int>(&logs - &epochs.front()), given);
      if (&logs == &epochs.back()) logger->on_train_end(given);
    }
  }
};

}  // namespace

TEST_CASE("csv: epoch, then names in order, as Python's csv writes them (C-9)", "[callbacks]") {
  Memory file;
  Scripted().fit(callbacks::csv_logger({.filename = "run/log.csv", .open = file.open()}),
                 {{{"loss", 0.5}, {"accuracy", 1}, {"val_loss", 1e-5}, {"val_accuracy", 0.1}},
                  {{"loss", 0.30000001192092896}, {"accuracy", 0}, {"val_loss", infinity}, {"val_accuracy", 1e16}}});
  CHECK(file.text ==
        "epoch,accuracy,loss,val_accuracy,val_loss\r\n"
        "0,1.0,0.5,0.1,1e-05\r\n"
        "1,0.0,0.30000001192092896,1e+16,inf\r\n");
  CHECK(file.path == "run/log.csv");
  CHECK(file.opened == 1);
  CHECK(file.flushed == 2);
  CHECK(file.open_now == 0);
}

TEST_CASE("csv: without a validation in the first epoch there are columns for later ones; missing values are NA (C-9)",
          "[callbacks]") {
  Memory file;
  Scripted().fit(
      callbacks::csv_logger({.filename = "f", .open = file.open()}),
      {{{"loss", 2}, {"acc", 1}}, {{"loss", 1}, {"acc", 1}, {"val_loss", 3}, {"val_acc", 0.5}}, {{"loss", 0.5}}});
  CHECK(file.text ==
        "epoch,acc,loss,val_acc,val_loss\r\n"
        "0,1.0,2.0,NA,NA\r\n"
        "1,1.0,1.0,0.5,3.0\r\n"
        "2,NA,0.5,NA,NA\r\n");
}

TEST_CASE("csv: append adds rows without a second header; otherwise the file starts again (C-9)", "[callbacks]") {
  Memory file;
  const auto logger = [&](bool append) {
    return callbacks::csv_logger({.filename = "f", .append = append, .open = file.open()});
  };
  const std::vector<Logs> one{{{"loss", 2}, {"val_loss", 1}}};
  const std::string header = "epoch,loss,val_loss\r\n", row = "0,2.0,1.0\r\n";
  Scripted run;
  run.fit(logger(true), one);
  CHECK(file.text == header + row);
  const auto again = logger(true);
  run.fit(again, one);
  run.fit(again, one);
  CHECK(file.text == header + row + row + row);
  run.fit(logger(false), one);
  CHECK(file.text == header + row);
}

TEST_CASE("csv: any separator is allowed, and texts that contain it are quoted", "[callbacks]") {
  Memory file;
  Scripted().fit(callbacks::csv_logger({.filename = "f", .separator = ";", .open = file.open()}),
                 {{{"a;b", 1}, {"say \"a\"", 2}, {"val_x", 3}}});
  CHECK(file.text == "epoch;\"a;b\";\"say \"\"a\"\"\";val_x\r\n0;1.0;2.0;3.0\r\n");
}

TEST_CASE("csv: a fit writes a row per epoch to a file of the system, and makes its folder", "[callbacks]") {
  const auto folder = std::filesystem::temp_directory_path() / "etude_csv_logger_test.tmp";
  const std::string path = (folder / "deep" / "log.csv").string();
  Scripted run;
  const auto fit = [&](bool append) {
    return run.model.fit(x, y,
                         {.epochs = 2,
                          .verbose = 0,
                          .callbacks = {callbacks::csv_logger({.filename = path, .append = append})},
                          .validation_data = Data(x, y)});
  };
  const auto history = fit(false);
  fit(true);
  const auto bytes = read_file(path);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CHECK_THAT(text, Catch::Matchers::StartsWith("epoch,loss,val_loss\r\n0," + shortest((*history)["loss"][0]) + ',' +
                                               shortest((*history)["val_loss"][0]) + "\r\n1,"));
  CHECK(std::ranges::count(text, '\n') == 5);
  for (const auto& made : {folder / "deep" / "log.csv", folder / "deep", folder}) std::filesystem::remove(made);
}

TEST_CASE("csv: files that cannot be opened and missing options are errors", "[callbacks]") {
  const auto blocked = std::filesystem::temp_directory_path() / "etude_csv_logger_test.blocked";
  std::filesystem::create_directories(blocked);
  Scripted run;
  const auto fit = [&](const std::string& path) {
    return error_of(
        [&] { run.model.fit(x, y, {.verbose = 0, .callbacks = {callbacks::csv_logger({.filename = path})}}); });
  };
  CHECK_THAT(fit(blocked.string()), ContainsSubstring("etude_csv_logger_test.blocked\" cannot be opened: "));
  std::filesystem::remove(blocked);
  CHECK_THAT(error_of([] { callbacks::csv_logger({}); }), ContainsSubstring("[CSVLogger] no filename"));
  CHECK_THAT(error_of([] { callbacks::csv_logger({.filename = "f", .separator = ""}); }),
             ContainsSubstring("[CSVLogger] an empty separator"));

  const auto files = std::exchange(host().files, nullptr);  // as in a page
  const std::string error = fit("log.csv");
  host().files = files;
  CHECK_THAT(error, ContainsSubstring("[CSVLogger] \"log.csv\" cannot be opened: no file system is available") &&
                        ContainsSubstring("the option open"));
}

TEST_CASE("numbers are written in the fewest digits that read back as the same, as Python spells them", "[callbacks]") {
  const std::vector<std::pair<double, const char*>> numbers{
      {0, "0.0"},          {-0.5, "-0.5"},
      {1, "1.0"},          {1234567, "1234567.0"},
      {0.1, "0.1"},        {1.0 / 3, "0.3333333333333333"},
      {0.0001, "0.0001"},  {0.00001, "1e-05"},
      {1.5e-7, "1.5e-07"}, {9007199254740992, "9007199254740992.0"},
      {1e16, "1e+16"},     {1.7976931348623157e308, "1.7976931348623157e+308"},
      {5e-324, "5e-324"},  {infinity, "inf"},
      {-infinity, "-inf"}, {std::numeric_limits<double>::quiet_NaN(), "nan"}};
  for (const auto& [number, text] : numbers) CHECK(shortest(number) == text);
  CHECK(json_object({{"a\"\\\n", 2}, {"b", 0.25}, {"c", infinity}}) == R"({"a\"\\\u000a": 2, "b": 0.25, "c": null})");
  CHECK(json_object({}) == "{}");
}

namespace {

std::string text_of(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
void write(const std::string& path, std::string_view text, bool append = false) {
  host().files->open(path, append)->append(text);
}

/// A training that appends to a log, and can be interrupted and started again.
struct Logged {
  testing::ScratchFolder scratch{"etude_csv_logger_test"};
  std::string log = scratch.path() + "/log.csv";
  Backup backup = {};
  bool append = true;
  SaveFrequency save_freq = "epoch";
  std::int64_t units = 4;

  /// The number of hooks so far.
  int run(std::optional<int> interrupt_at = {}) {
    const RandomSeed of_this_run(5);
    Sequential model(two_dense(units));
    model.compile(mse());
    // Its hooks run after the logger's, and before those of callbacks that save.
    const auto interrupter = std::make_shared<Interrupter>(interrupt_at);
    model.fit(x, y,
              {.batch_size = 4,
               .epochs = 3,
               .verbose = 0,
               .callbacks = {callbacks::csv_logger({.filename = log, .append = append}), interrupter,
                             callbacks::backup_and_restore(backup.options(save_freq))}});
    return interrupter->hooks();
  }
};

}  // namespace

TEST_CASE("csv: a fit that continues after an interruption appends each epoch once", "[callbacks]") {
  const std::string before = GENERATE(as<std::string>{}, "", "epoch,loss,val_loss\r\n0,2.0,NA\r\n1,1.0,NA\r\n");
  const SaveFrequency save_freq = GENERATE(SaveFrequency("epoch"), SaveFrequency(1), SaveFrequency(5));
  const std::string torn = GENERATE(as<std::string>{}, "", "1", "2,0.12");
  Logged whole{.save_freq = save_freq};
  write(whole.log, before);
  const int hooks = whole.run();
  for (int hook = 0; hook < hooks; ++hook) {
    INFO("hook " << hook << " of " << hooks);
    Logged run{.save_freq = save_freq};
    write(run.log, before);
    CHECK_THROWS_AS(run.run(hook), Interruption);
    const auto rows = std::ranges::count(text_of(run.log), '\n') - std::ranges::count(before, '\n') - before.empty();
    // The process was killed while it wrote the next line.
    if (!torn.empty() && torn[0] - '0' == rows) write(run.log, torn, true);
    run.run();
    CHECK(text_of(run.log) == text_of(whole.log));
  }
}

TEST_CASE("csv: rows that other programs appended since the interruption stay", "[callbacks]") {
  const std::string others =
      GENERATE(as<std::string>{}, "0,7.0,NA\r\n", "# another training\r\n", "epoch,loss,val_loss\r\n");
  const int epochs = GENERATE(0, 1);  // complete ones, before an epoch that was logged, but not saved
  Logged whole, run;
  whole.run();
  CHECK_THROWS_AS(run.run(6 * (epochs + 1)), Interruption);
  const std::string before = text_of(run.log) + others, rows = text_of(whole.log);
  write(run.log, others, true);
  run.run();
  CHECK(text_of(run.log) == before + rows.substr(rows.find('\n' + std::to_string(epochs) + ',') + 1));
}

TEST_CASE("csv: a log that was removed since starts with its header again", "[callbacks]") {
  Logged run;
  CHECK_THROWS_AS(run.run(8), Interruption);
  std::filesystem::remove(run.log);
  run.run();
  CHECK_THAT(text_of(run.log), Catch::Matchers::StartsWith("epoch,loss,val_loss\r\n1,"));
}

TEST_CASE("csv: a fit that is refused leaves the log as it is", "[callbacks]") {
  Logged run{.append = GENERATE(true, false)};
  SECTION("another training works in the backup's folder") {
    write(run.log, "the first training's\r\n");
    const CheckpointStore first("backup", {.files = run.backup.files});
    CHECK_THAT(error_of([&] { run.run(); }), ContainsSubstring("is locked"));
    CHECK(text_of(run.log) == "the first training's\r\n");
  }
  SECTION("the backup is another model's") {
    CHECK_THROWS_AS(run.run(8), Interruption);
    const std::string before = text_of(run.log);
    run.units = 5;
    CHECK_THAT(error_of([&] { run.run(); }), ContainsSubstring("training state"));
    CHECK(text_of(run.log) == before);
  }
  SECTION("there was no log, and there is none") {
    const CheckpointStore first("backup", {.files = run.backup.files});
    CHECK_THAT(error_of([&] { run.run(); }), ContainsSubstring("is locked"));
    CHECK_FALSE(std::filesystem::exists(run.log));
  }
}

}  // namespace etude
