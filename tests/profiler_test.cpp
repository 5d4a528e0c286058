#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "etude/base/detail/clock.hpp"
#include "etude/training/detail/step_function.hpp"
#include "files_in_memory.hpp"
#include "mirrored_samples.hpp"
#include "training_samples.hpp"

// Profiler: the trace of a fit, in Chrome's trace event format.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

const Tensor x = waves({6, 3}), y = signs_of(x);

/// A slice of a trace. Times are in nanoseconds.
struct Slice {
  std::string name, category;
  json args;
  int thread;
  std::int64_t begin, end;

  bool contains(const Slice& other) const { return thread == other.thread && begin <= other.begin && other.end <= end; }
};

struct Profiled {
  testing::FilesInMemory memory;
  Sequential model{two_dense()};

  explicit Profiled(CompileOptions options = mse()) { model.compile(std::move(options)); }

  void fit(ProfilerOptions options, FitOptions how = {}) {
    options.filepath = "logs/trace.json";
    how.batch_size = 2;
    how.verbose = 0;
    how.callbacks.push_back(callbacks::profiler(options));
    model.fit(x, y, how);
  }
  json trace() const {
    const std::vector<std::byte> bytes = memory.files->read("logs/trace.json");
    return json::parse(reinterpret_cast<const char*>(bytes.data()),
                       reinterpret_cast<const char*>(bytes.data()) + bytes.size());
  }
};

/// Slices of one name or category; all without one.
std::vector<Slice> slices_of(const json& trace, std::string_view what = "") {
  std::vector<Slice> slices;
  const auto nanoseconds = [](const json& microseconds) { return std::llround(1e3 * microseconds.get<double>()); };
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X" || (!what.empty() && event.at("name") != what && event.at("cat") != what)) continue;
    const std::int64_t begin = nanoseconds(event.at("ts"));
    slices.push_back({event.at("name"), event.at("cat"), event.at("args"), event.at("tid"), begin,
                      begin + nanoseconds(event.at("dur"))});
  }
  return slices;
}

/// The number of slices that contain this one.
std::ptrdiff_t count_around(const Slice& inner, const std::vector<Slice>& outer) {
  return std::ranges::count_if(outer, [&](const Slice& each) { return each.contains(inner); });
}

/// "0  Gemm 2×4×3, then Add, Relu" of each line of explain(), without the costs.
std::vector<std::string> explained(const Model& model) {
  std::vector<std::string> result;
  std::istringstream lines(model.explain());
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t costs = line.rfind("  ("); costs != line.npos) result.push_back(line.substr(0, costs));
  return result;
}

std::string line_of(const Slice& instruction) {
  return std::to_string(instruction.args.at("number").get<int>()) + "  " +
         instruction.args.at("instruction").get<std::string>();
}

}  // namespace

TEST_CASE("profiler: instructions are within runs, runs within steps, steps within epochs", "[callbacks][profiler]") {
  Profiled run;
  const double began = monotonic_seconds();
  run.fit({.profiling_end = 100}, {.epochs = 2, .validation_data = Data(x, y)});
  const std::int64_t wall = std::llround(1e9 * (monotonic_seconds() - began));
  const json trace = run.trace();
  const std::vector<Slice> all = slices_of(trace), epochs = slices_of(trace, "epoch"), steps = slices_of(trace, "step"),
                           tests = slices_of(trace, "test_step"), runs = slices_of(trace, "run"),
                           validations = slices_of(trace, "validation");
  CHECK(epochs.size() == 2);
  CHECK(steps.size() == 6);
  CHECK(tests.size() == 6);
  CHECK(validations.size() == 2);
  CHECK(slices_of(trace, "trace").size() == 2);       // of fit and of its validation
  CHECK(slices_of(trace, "data").size() >= 12);       // one for each step
  CHECK(slices_of(trace, "callbacks").size() == 14);  // after each step and each epoch
  for (const Slice& each : all) {
    CHECK(each.begin >= 0);
    CHECK(each.end <= wall);
    CHECK(std::ranges::all_of(all, [&](const Slice& other) {
      return each.contains(other) || other.contains(each) || each.end <= other.begin || other.end <= each.begin;
    }));
  }
  for (const Slice& instruction : slices_of(trace, "instruction")) CHECK(count_around(instruction, runs) == 1);
  for (const Slice& each : runs) CHECK(count_around(each, steps) + count_around(each, tests) == 1);
  for (const Slice& each : steps) CHECK(count_around(each, epochs) == 1);
  for (const Slice& each : tests) CHECK(count_around(each, validations) == 1);
  for (const Slice& each : validations) CHECK(count_around(each, epochs) == 1);
}

TEST_CASE("profiler: each step has the instructions that explain() lists", "[callbacks][profiler]") {
  Profiled run;
  run.fit({});
  const json trace = run.trace();
  const std::vector<Slice> instructions = slices_of(trace, "instruction");
  for (const Slice& step : slices_of(trace, "step")) {
    std::vector<std::string> lines;
    for (const Slice& each : instructions) {
      if (!step.contains(each)) continue;
      lines.push_back(line_of(each));
      CHECK_THAT(each.args.at("instruction"), ContainsSubstring(each.name));
      CHECK(each.args.at("bytes") > 0);
    }
    CHECK(lines == explained(run.model));
  }
}

TEST_CASE("profiler: only steps of its range are watched, and none without it", "[callbacks][profiler]") {
  Profiled run;
  std::vector<bool> watched;
  const auto look = callbacks::lambda({.on_train_batch_end = [&](std::int64_t, Logs&) {
    watched.push_back(run.model.make_train_function()->watcher() != nullptr);
  }});
  run.fit({.profiling_start = 2, .profiling_end = 4}, {.epochs = 2, .callbacks = {look}});
  CHECK(watched == std::vector{false, false, true, true, false, false});
  CHECK(run.model.make_train_function()->watcher() == nullptr);
  const json trace = run.trace();
  const std::vector<Slice> steps = slices_of(trace, "step"), epochs = slices_of(trace, "epoch");
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].args == json{{"first", 2}, {"last", 2}});
  CHECK(steps[1].args == json{{"first", 0}, {"last", 0}});
  CHECK(epochs.at(1).contains(steps[1]));
  watched.clear();
  run.model.fit(x, y, {.batch_size = 2, .verbose = 0, .callbacks = {look}});
  CHECK(watched == std::vector(3, false));
}

TEST_CASE("profiler: an execution of several steps is one step of the trace", "[callbacks][profiler]") {
  CompileOptions options = mse();
  options.steps_per_execution = 2;
  Profiled run(options);
  run.fit({});
  const json trace = run.trace();
  const std::vector<Slice> steps = slices_of(trace, "step"), runs = slices_of(trace, "run");
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].args == json{{"first", 0}, {"last", 1}});
  CHECK(std::ranges::count_if(runs, [&](const Slice& each) { return steps[0].contains(each); }) == 2);
}

TEST_CASE("profiler: training has the same bits with it", "[callbacks][profiler]") {
  Profiled with;
  with.fit({}, {.epochs = 2});
  Sequential without(two_dense());
  without.compile(mse());
  without.fit(x, y, {.batch_size = 2, .epochs = 2, .verbose = 0});
  CHECK(weights_of(with.model) == weights_of(without));
}

TEST_CASE("profiler: each replica has a thread, and all-reduces have their bytes", "[callbacks][profiler][mirrored]") {
  Profiled files;
  const auto model = within(mirrored(2), [] {
    auto made = std::make_shared<Sequential>(two_dense());
    made->compile(mse());
    return made;
  });
  model->fit(x, y,
             {.batch_size = 2, .verbose = 0, .callbacks = {callbacks::profiler({.filepath = "logs/trace.json"})}});
  const json trace = files.trace();
  std::vector<std::string> names;
  for (const json& event : trace.at("traceEvents"))
    if (event.at("name") == "thread_name") names.push_back(event.at("args").at("name"));
  CHECK(names == std::vector<std::string>{"replica 0 on cpu", "replica 1 on cpu"});
  const std::vector<Slice> sums = slices_of(trace, "all_reduce");
  REQUIRE(!sums.empty());
  CHECK(sums.front().name == "AllReduce");
  CHECK(sums.front().args.at("bytes") >= static_cast<std::int64_t>(sizeof(float)) * model->count_params());
  std::vector<std::string> lines[2];
  for (const Slice& each : slices_of(trace))
    if (each.category != "loop") lines[each.thread].push_back(line_of(each));
  std::vector<std::string> all = explained(*model), computed = all;
  std::erase_if(computed, [](const std::string& line) { return line.find("  AllReduce") != line.npos; });
  const auto first_step = [](std::vector<std::string> some, std::size_t count) {
    some.resize(std::min(count, some.size()));
    return some;
  };
  CHECK(first_step(lines[0], all.size()) == all);
  CHECK(first_step(lines[1], computed.size()) == computed);
}

TEST_CASE("profiler: a fit that fails leaves a trace of what it did", "[callbacks][profiler]") {
  Profiled run;
  const auto fails = callbacks::lambda({.on_train_batch_end = [](std::int64_t step, Logs&) {
    if (step == 1) throw std::runtime_error("stops here");
  }});
  CHECK_THROWS_WITH(run.fit({}, {.callbacks = {fails}}), "stops here");
  const json trace = run.trace();
  const std::vector<Slice> steps = slices_of(trace, "step"), epochs = slices_of(trace, "epoch");
  REQUIRE(steps.size() == 2);
  REQUIRE(epochs.size() == 1);
  CHECK(epochs[0].contains(steps[1]));
  CHECK(run.model.make_train_function()->watcher() == nullptr);
}

TEST_CASE("profiler: wrong options, and a second profiler of a fit, are errors", "[callbacks][profiler]") {
  const auto made = [](ProfilerOptions options) { return error_of([&] { callbacks::profiler(options); }); };
  CHECK_THAT(made({}), ContainsSubstring("no filepath"));
  CHECK_THAT(made({.filepath = "t", .profiling_start = 3, .profiling_end = 3}), ContainsSubstring("profiling_end = 3"));
  CHECK_THAT(made({.filepath = "localstorage://t"}), ContainsSubstring("localstorage://t"));
  Profiled run;
  const auto other = callbacks::profiler({.filepath = "other.json"});
  CHECK_THAT(error_of([&] { run.fit({}, {.callbacks = {other}}); }), ContainsSubstring("another profiler"));
  CHECK(run.model.make_train_function()->watcher() == nullptr);
}

}  // namespace etude
