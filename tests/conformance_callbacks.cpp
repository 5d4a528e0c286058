#include <algorithm>
#include <map>

#include "conformance.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Callbacks by name, each in a fit whose epochs report the logs of the case.
namespace etude::conformance {

std::string expect_equal(const char* what, const json& got, const json& want) {
  return got == want ? "" : std::string(what) + ": " + got.dump() + " instead of " + want.dump();
}

std::shared_ptr<EarlyStopping> make_early_stopping(const json& config, TextSink warn) {
  EarlyStoppingOptions options{.monitor = config.value("monitor", "val_loss"),
                               .min_delta = config.value("min_delta", 0.0),
                               .patience = config.value("patience", 0),
                               .mode = config.value("mode", "auto"),
                               .restore_best_weights = config.value("restore_best_weights", false),
                               .warn = std::move(warn)};
  if (config.contains("baseline")) options.baseline = config.at("baseline").get<double>();
  return callbacks::early_stopping(options);
}

namespace {

/// Makes each epoch report the logs of a script, and stores its final weights.
struct Script : Callback {
  json logs;
  int stop_at = -1;
  std::vector<std::vector<double>> weights;

  Script(const json& inputs)
      : logs(list_in(inputs, "epoch_logs")), stop_at(inputs.value("external_stop_at_epoch", -1)) {}
  void on_epoch_end(int epoch, Logs& given) override {
    for (const auto& [name, value] : logs.at(static_cast<std::size_t>(epoch)).items()) given.set(name, value);
    weights.push_back(samples::weights_of(model()));
    if (epoch == stop_at) model().stop_training = true;
  }
};

/// A model of one unit on four rows.
struct Trained {
  Sequential model{samples::summing_unit()};
  const Tensor x = samples::waves({4, 2}), y = samples::signs_of(x);

  explicit Trained(CompileOptions options = samples::mse()) { model.compile(std::move(options)); }
  HistoryPtr fit(int epochs, std::vector<CallbackPtr> callbacks, bool validates = false) {
    FitOptions options{.epochs = epochs, .verbose = 0, .callbacks = std::move(callbacks)};
    if (validates) options.validation_data = Data(x, y);
    return model.fit(x, y, options);
  }
};

std::string run_early_stopping(const json& test) {
  int warnings = 0;
  const auto stopping = make_early_stopping(test.at("config"), [&](std::string_view) { ++warnings; });
  const auto script = std::make_shared<Script>(test.at("inputs"));
  Trained run;
  const auto history = run.fit(static_cast<int>(script->logs.size()), {script, stopping});
  const std::size_t epochs = history->epoch().size();
  const std::vector<double> weights = samples::weights_of(run.model);
  const std::map<std::string, json> got{
      {"stopped_epoch", stopping->stopped_epoch()},
      {"epochs_run", epochs},
      {"weights_from_epoch", std::ranges::find(script->weights, weights) - script->weights.begin()},
      {"stop_requested_after_index", run.model.stop_training ? json(epochs - 1) : json()},
  };
  for (const auto& [name, want] : test.at("expect").items())
    if (const std::string text = expect_equal(name.c_str(), known(got, name), want); !text.empty()) return text;
  const bool monitored = script->logs.at(0).contains(test.at("config").value("monitor", "val_loss"));
  return expect_equal("warnings", warnings, monitored ? 0 : epochs);
}

/// Exposes the results of a MonitorCallback.
struct Probe : MonitorCallback {
  Direction found = Direction::unknown;
  Probe(const json& config)
      : MonitorCallback("Probe", config.value("monitor", "loss"), config.at("mode"), config.value("min_delta", 0.0),
                        {}) {}
  void on_epoch_end(int, Logs& logs) override { found = direction(logs); }
  bool improves(double value, double reference) {
    direction({});
    return is_improvement(value, reference);
  }
};

std::string run_direction(const json& test) {
  MetricList known;
  // The direction is that of the monitored metric; other metrics that Étude lacks are dropped.
  for (const json& name : test.at("inputs").at("compiled_metrics"))
    if (testing::error_of([&] { metrics::check_name(name.get<std::string>()); }) == "no error")
      known.emplace_back(name.get<std::string>());
  CompileOptions options = samples::mse();
  options.metrics = known;
  const auto probe = std::make_shared<Probe>(test.at("config"));
  Trained run(options);
  const std::string error = samples::error_of([&] { run.fit(1, {probe}, true); });
  if (test.at("expect").contains("error"))
    return error.find("expected one of: loss, mse") < error.size() ? "" : error + " - no error";
  if (!error.empty()) return error;
  return expect_equal("direction", probe->found == Direction::up ? "max" : "min", test.at("expect").at("direction"));
}

std::string run_rate(const json& test, const CallbackPtr& callback, const CallbackPtr& script, int epochs) {
  Trained run(samples::mse(test.at("inputs").at("initial_lr")));
  run.fit(epochs, script ? std::vector{script, callback} : std::vector{callback});
  json expect = test.at("expect");
  expect["value"] = expect.at("final_lr");
  return difference_from(expect, tensor_of(run.model.optimizer().learning_rate()));
}

std::string run_plateau(const json& test) {
  const json& config = test.at("config");
  const auto callback = callbacks::reduce_lr_on_plateau({.monitor = config.at("monitor"),
                                                         .factor = config.at("factor"),
                                                         .patience = config.at("patience"),
                                                         .min_delta = config.at("min_delta"),
                                                         .cooldown = config.value("cooldown", 0),
                                                         .min_lr = config.value("min_lr", 0.0)});
  const auto script = std::make_shared<Script>(test.at("inputs"));
  return run_rate(test, callback, script, static_cast<int>(script->logs.size()));
}

std::string run_scheduler(const json& test) {
  const std::map<std::string, EpochSchedule> schedules{
      {"1/(2+epoch)", [](int epoch, double) { return 1.0 / (2 + epoch); }},
      {"lr/2", [](int, double rate) { return rate / 2; }}};
  if (test.at("expect").contains("error")) {  // the optimizer has a schedule
    CompileOptions options = samples::mse();
    options.optimizer = optimizers::sgd(
        {.learning_rate = etude::schedules::polynomial_decay({.initial_learning_rate = 0.1, .decay_steps = 10})});
    Trained run(options);
    const auto callback = callbacks::learning_rate_scheduler({.schedule = [](int, double rate) { return rate; }});
    const std::string error = samples::error_of([&] { run.fit(1, {callback}); });
    return error.find(test.at("expect").at("message_contains").get<std::string>()) < error.size() ? "" : error;
  }
  const auto callback =
      callbacks::learning_rate_scheduler({.schedule = schedules.at(test.at("config").at("schedule"))});
  return run_rate(test, callback, nullptr, test.at("inputs").at("epochs"));
}

/// A file in memory, as text.
struct TextFile : FileSink {
  std::string& text;
  bool began_empty;
  explicit TextFile(std::string& kept) : text(kept), began_empty(kept.empty()) {}
  bool empty() const override { return began_empty; }
  void append(std::string_view bytes) override { text += bytes; }
  void flush() override {}
};

std::string run_csv(const json& test) {
  std::string text;
  const auto open = [&](const std::string&, bool append) {
    if (!append) text.clear();
    return std::make_unique<TextFile>(text);
  };
  const auto logger = [&](bool append) {
    return callbacks::csv_logger(
        {.filename = "log.csv", .separator = test.at("config").at("separator"), .append = append, .open = open});
  };
  CompileOptions options = samples::mse();
  options.metrics = {"mse"};
  Trained run(options);
  run.fit(test.at("inputs").at("epochs"), {logger(false)}, true);
  const auto again = logger(true);
  run.fit(1, {again}, true);
  run.fit(2, {again}, true);

  const json& expect = test.at("expect");
  std::vector<std::string> lines;
  for (std::size_t end; (end = text.find("\r\n")) != text.npos; text.erase(0, end + 2))
    lines.push_back(text.substr(0, end));
  const auto headers = std::ranges::count_if(lines, [](const std::string& line) { return line.starts_with("epoch"); });
  for (const std::string& line : lines)
    if (std::ranges::count(line, test.at("config").at("separator").get<std::string>()[0]) !=
        expect.at("separators_per_line"))
      return line;
  return expect_equal("lines and headers", {lines.size(), headers},
                      {expect.at("total_lines"), expect.at("header_lines")});
}

std::string run_log_keys(const json& test) {
  /// The names in the logs of each hook's first call.
  struct Keys : samples::Recorder {
    json found = json::object();
    void on_predict_batch_end(std::int64_t, Logs& logs) override {
      json list = json::array();
      for (std::size_t i = 0; i < logs.size(); ++i) list.push_back(logs.name(i));
      if (logs.has_outputs()) list.push_back("outputs");
      found.emplace("predict_batch_end", list);
    }
    json names() {
      for (const std::string& event : events) {
        const std::string hook = event.substr(0, event.find_first_of(" :"));
        json list = json::array();
        if (const std::size_t colon = event.find(": "); colon != event.npos)
          for (std::size_t at = colon + 2, end = 0; end != event.npos; at = end + 1)
            list.push_back(event.substr(at, (end = event.find(',', at)) - at));
        found.emplace(hook, list);
      }
      return found;
    }
  };
  MetricList metrics;
  for (const json& name : test.at("config").at("metrics")) metrics.emplace_back(name.get<std::string>());
  CompileOptions options = samples::mse();
  options.metrics = metrics;
  Trained run(options);
  const auto recorder = std::make_shared<Keys>();
  run.fit(1, {recorder}, true);
  run.model.predict(run.x, {.verbose = 0, .callbacks = {recorder}});
  const json found = recorder->names();
  for (const auto& [hook, want] : test.at("expect").items()) {
    std::string name = hook.substr(3);
    if (name.starts_with("train_batch")) name = name.substr(6);
    if (const std::string text = expect_equal(hook.c_str(), found.at(name), want); !text.empty()) return text;
  }
  return {};
}

}  // namespace

std::string run_named_callback(const json& test) {
  const std::string target = test.at("target");
  if (target == "EarlyStopping") return run_early_stopping(test);
  if (target == "MonitorCallback.mode") return run_direction(test);
  if (target == "MonitorCallback.is_improvement")
    return expect_equal(
        "improved", Probe(test.at("config")).improves(test.at("inputs").at("value"), test.at("inputs").at("reference")),
        test.at("expect").at("improved"));
  if (target == "ReduceLROnPlateau") return run_plateau(test);
  if (target == "LearningRateScheduler") return run_scheduler(test);
  if (target == "CSVLogger") return run_csv(test);
  if (target == "callback_log_keys") return run_log_keys(test);
  throw Missing("callback " + target);
}

}  // namespace etude::conformance
