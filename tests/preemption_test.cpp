#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "interrupted_runs.hpp"

// save_before_preemption: a request to end, such as SIGTERM, which the tests simulate.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

/// A request during a hook, counted as by Interrupter. The process ends by an Interruption.
struct Request {
  bool came = false;
  int watching = 0, ended = 0;

  WatchTermination watch() {
    return [this] { return std::make_unique<Watch>(*this); };
  }
  /// Requests the end at hook number `at`.
  CallbackPtr at(int at) {
    class Asking : public Interrupter {
     public:
      Asking(Request& request, int hook) : Interrupter(hook), request_(request) {}

     protected:
      void interrupt() override { request_.came = true; }

     private:
      Request& request_;
    };
    return std::make_shared<Asking>(*this, at);
  }

 private:
  struct Watch : Termination {
    Request& request;
    explicit Watch(Request& r) : request(r) { ++request.watching; }
    ~Watch() override { --request.watching; }
    bool requested() override { return request.came; }
    [[noreturn]] void exit() override {
      ++request.ended;
      throw Interruption{};
    }
  };
};

}  // namespace

TEST_CASE("preemption: a request at any moment saves the state, and the next start ends with the same bits",
          "[callbacks][preemption]") {
  const DataKind data = GENERATE(DataKind::arrays, DataKind::generator);
  const std::int64_t steps_per_execution = GENERATE(1, 4);
  Script script{.optimizer = "adam", .data = data, .steps_per_execution = steps_per_execution, .epochs = 3};
  const Outcome whole = script.run();
  for (int hook = 0; hook < whole.hooks; ++hook) {
    INFO("hook " << hook << " of " << whole.hooks);
    Backup backup;
    Request request;
    script.backup = backup.options(100);  // saves nothing itself
    script.backup.save_before_preemption = true;
    script.backup.termination = request.watch();
    script.further = {request.at(hook)};
    CHECK_THROWS_AS(script.run(), Interruption);
    CHECK(request.ended == 1);
    CHECK(request.watching == 0);
    CHECK(backup.checkpoints().size() == 1);
    request.came = false;
    script.further = {};
    CHECK(script.run() == whole);
    CHECK(backup.warnings.lines.empty());
  }
}

TEST_CASE("preemption: no step follows the step of the request", "[callbacks][preemption]") {
  Backup backup;
  Request request;
  Script script{.backup = backup.options()};
  script.backup.save_before_preemption = true;
  script.backup.termination = request.watch();
  const auto recorder = std::make_shared<Recorder>();
  script.further = {request.at(3), recorder};  // the first on_train_batch_end
  CHECK_THROWS_AS(script.run(), Interruption);
  CHECK(recorder->events.back() == "batch_end 0: loss,accuracy");
  CHECK(backup.checkpoints() == std::vector<std::string>{"ckpt-00000001"});
}

TEST_CASE("preemption: a request during validation saves the state before it, and validation runs again",
          "[callbacks][preemption]") {
  Script script{.epochs = 2};
  const Outcome whole = script.run();
  Backup backup;
  Request request;
  script.backup = backup.options(100);
  script.backup.save_before_preemption = true;
  script.backup.termination = request.watch();
  script.further = {request.at(14)};  // of train_begin, epoch_begin and two for each of six batches
  CHECK_THROWS_AS(script.run(), Interruption);
  request.came = false;
  const auto recorder = std::make_shared<Recorder>();
  script.further = {recorder};
  CHECK(script.run() == whole);
  CHECK(recorder->events[2] == "test_begin");
}

TEST_CASE("preemption: without the option there is no watch; a fit that ends releases its watch",
          "[callbacks][preemption]") {
  Backup backup;
  Request request;
  Script script{.backup = backup.options(1), .epochs = 1};
  script.backup.termination = request.watch();
  script.further = {request.at(4)};
  const Outcome whole = script.run();
  CHECK(request.ended == 0);
  request.came = false;
  script.backup.save_before_preemption = true;
  script.further = {callbacks::lambda({.on_epoch_begin = [&](int, Logs&) { CHECK(request.watching == 1); }})};
  CHECK(script.run() == whole);
  CHECK(request.watching == 0);
}

TEST_CASE("preemption: fit throws the error of a checkpoint that cannot be saved", "[callbacks][preemption]") {
  class Full : public MemoryVfs {
   public:
    bool full = false;
    std::unique_ptr<FileSink> open(const std::string& path, bool append) override {
      if (full) fail_at_path(path, "written", "no space left");
      return MemoryVfs::open(path, append);
    }
  };
  const auto files = std::make_shared<Full>();
  Request request;
  Script script{.backup = {.backup_dir = "b", .save_before_preemption = true, .files = files}};
  script.backup.termination = request.watch();
  script.further = {request.at(5), callbacks::lambda({.on_epoch_begin = [&](int, Logs&) { files->full = true; }})};
  CHECK_THAT(error_of([&] { script.run(); }), ContainsSubstring("no space left"));
  CHECK(request.ended == 0);
}

TEST_CASE("preemption: the option is an error on hosts without signals", "[callbacks][preemption]") {
  const WatchTermination watch = std::exchange(host().watch_termination, nullptr);
  const std::string error =
      error_of([] { callbacks::backup_and_restore({.backup_dir = "b", .save_before_preemption = true}); });
  host().watch_termination = watch;
  CHECK_THAT(error,
             ContainsSubstring("[BackupAndRestore] {.save_before_preemption = true} where there are no signals"));
}

}  // namespace etude
