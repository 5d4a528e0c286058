#include <algorithm>
#include <map>

#include "conformance.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// The families of whole models and loops.
namespace etude::conformance {
namespace {

using samples::Recorder;

LayerPtr make_layer(const json& description) {
  LayerPtr layer = make<Layer>(description.at("class"), description.at("config"));
  layer->set_trainable(description.value("trainable", true));
  return layer;
}

/// Layers in sequence, or a graph of named ones.
std::unique_ptr<Model> make_layers(const json& config) {
  if (!config.contains("graph")) {
    std::vector<LayerPtr> layers;
    for (const json& layer : list_in(config, "layers")) layers.push_back(make_layer(layer));
    return std::make_unique<Sequential>(std::move(layers));
  }
  std::map<std::string, SymbolicTensor> tensors;
  const auto named = [&](const json& names) {
    std::vector<SymbolicTensor> result;
    for (const json& name : names) result.push_back(tensors.at(name.get<std::string>()));
    return result;
  };
  std::vector<SymbolicTensor> inputs;
  for (const json& input : list_in(config, "inputs")) {
    inputs.push_back(layers::input({.shape = shape_in(input.at("shape")), .name = input.at("name")}));
    tensors.emplace(input.at("name"), inputs.back());
  }
  for (json node : list_in(config, "graph")) {
    node.at("layer").at("config")["name"] = node.at("name");
    tensors.emplace(node.at("name"), make_layer(node.at("layer"))->apply(named(node.at("from"))));
  }
  return std::make_unique<Functional>(inputs, named(config.at("outputs")));
}

/// An argument of compile, with a class and config or by name.
template <class T> Choice<T> choice_of(const json& given) {
  if (given.is_null()) return {};
  if (given.is_object()) return make<T>(given.at("class"), given.at("config"));
  return given.get<std::string>();
}

/// A value for all outputs, for each, or by name.
template <class T, class Read> PerOutput<T> per_output(const json& given, Read read) {
  if (given.is_object() && !given.contains("class")) {
    std::map<std::string, T> named;
    for (const auto& [name, each] : given.items()) named.emplace(name, read(each));
    return named;
  }
  if (!given.is_array()) return PerOutput<T>(read(given));
  std::vector<T> list;
  for (const json& each : given) list.push_back(read(each));
  return list;
}

std::unique_ptr<Model> make_model(const json& config) {
  auto model = make_layers(config);
  const json& compile = config.at("compile");
  check_names(compile, {"optimizer", "loss"}, {"loss_weights", "metrics", "fuse_logits"});
  CompileOptions options{.optimizer = choice_of<Optimizer>(compile.at("optimizer")),
                         .loss = per_output<Choice<Loss>>(compile.at("loss"), choice_of<Loss>),
                         .fuse_logits = compile.value("fuse_logits", true)};
  if (compile.contains("loss_weights"))
    options.loss_weights =
        per_output<double>(compile.at("loss_weights"), [](const json& w) { return w.get<double>(); });
  MetricList metrics;
  for (const json& metric : compile.value("metrics", json::array())) metrics.push_back(choice_of<Metric>(metric));
  options.metrics = metrics;
  model->compile(options);
  return model;
}

/// One array, or several.
std::vector<Tensor> tensors_of(const json& given, std::size_t count) {
  if (count == 1) return {tensor_of(given)};
  std::vector<Tensor> result;
  for (const json& each : given) result.push_back(tensor_of(each));
  return result;
}

/// The same, with the tolerance of the whole case.
std::string compare(const json& expect, const json& value, const Tensor& got) {
  return difference_from({{"value", value}, {"atol", expect.value("atol", 0.0)}, {"rtol", expect.value("rtol", 0.0)}},
                         got);
}

Tensor vector_of(const std::vector<double>& values) {
  return testing::tensor_of({static_cast<std::int64_t>(values.size())}, DType::float64, values);
}

/// Compares the logs with those of `named`.
std::string compare_logs(const json& expect, const json& named, const Logs& logs) {
  for (const auto& [name, value] : named.items())
    if (const std::string text = compare(expect, json::array({value}), vector_of({logs[name]})); !text.empty())
      return name + ": " + text;
  return {};
}

/// A model of one unit on `rows` rows, and a fit of it with `recorder`.
HistoryPtr recorded_fit(const std::shared_ptr<Recorder>& recorder, std::int64_t rows, std::int64_t steps_per_execution,
                        FitOptions options) {
  if (rows < 0 || rows > most_rows) throw Missing(std::to_string(rows) + " rows");
  Sequential model(samples::summing_unit());
  CompileOptions how = samples::mse(0.01);
  how.steps_per_execution = steps_per_execution;
  model.compile(how);
  options.verbose = 0;
  options.callbacks = {recorder};
  const Tensor x = samples::waves({rows, 2});
  return model.fit(x, samples::signs_of(x), options);
}

/// The indices in events such as "batch_end 3: loss".
std::vector<int> indices(const Recorder& recorder, const std::string& hook) {
  std::vector<int> result;
  for (const std::string& event : recorder.starting_with(hook + ' '))
    result.push_back(std::stoi(event.substr(hook.size() + 1)));
  return result;
}

std::vector<int> repeated(const json& indices, int times) {
  const std::vector<int> once = indices;
  std::vector<int> result;
  for (int i = 0; i < times; ++i) result.insert(result.end(), once.begin(), once.end());
  return result;
}

}  // namespace

std::string run_fit(const json& test) {
  const json &inputs = test.at("inputs"), &given = inputs.at("fit"), &expect = test.at("expect");
  check_names(given, {},
              {"epochs", "batch_size", "validation_split", "validation_data", "shuffle", "initial_epoch", "callbacks",
               "class_weight", "verbose"});
  const auto model = make_model(test.at("config"));
  FitOptions options{.epochs = given.value("epochs", 1),
                     .verbose = 0,
                     .validation_split = given.value("validation_split", 0.0),
                     .shuffle = given.value("shuffle", true),
                     .initial_epoch = given.value("initial_epoch", 0)};
  if (given.contains("batch_size")) options.batch_size = given.at("batch_size").get<std::int64_t>();
  if (given.contains("validation_data"))
    options.validation_data =
        Data(tensor_of(given.at("validation_data").at(0)), tensor_of(given.at("validation_data").at(1)));
  for (const json& callback : given.value("callbacks", json::array())) {
    if (callback.at("class") != "EarlyStopping") throw Missing("callback " + callback.at("class").get<std::string>());
    options.callbacks.push_back(make_early_stopping(callback.at("config")));
  }
  const json class_weight = given.value("class_weight", json::object());
  for (const auto& [label, weight] : class_weight.items()) options.class_weight[std::stoi(label)] = weight;
  const json outputs = test.at("config").value("outputs", json::array({"y"}));
  const auto history =
      model->fit(Batch{{tensor_of(inputs.at("x"))}, tensors_of(inputs.at("y"), outputs.size()), {}}, options);

  const json wanted = expect.value("history", json::object());
  for (const auto& [name, values] : wanted.items())
    if (const std::string text = compare(expect, values, vector_of((*history)[name])); !text.empty())
      return name + ": " + text;
  if (expect.contains("epoch") && expect.at("epoch") != json(history->epoch())) return json(history->epoch()).dump();
  if (expect.contains("epochs_run") && expect.at("epochs_run") != history->epoch().size()) return "another epochs_run";
  if (expect.contains("iterations") && expect.at("iterations") != model->optimizer().iterations())
    return std::to_string(model->optimizer().iterations()) + " iterations";
  const auto compare_each = [&](const char* what, const std::function<Tensor(std::size_t)>& got) -> std::string {
    const json wanted_values = expect.value(what, json::array());
    for (std::size_t i = 0; i < wanted_values.size(); ++i)
      if (const std::string text = wanted_values[i].is_null() ? "" : compare(expect, wanted_values[i], got(i));
          !text.empty())
        return std::string(what) + ": " + text;
    return {};
  };
  const std::string text = compare_each("ema", [&](auto i) { return model->optimizer().slots().at(0).at(i).value(); });
  return text.empty() ? compare_each("weights", [&](auto i) { return model->get_weights().at(i); }) : text;
}

std::string run_train_on_batch(const json& test) {
  const auto model = make_model(test.at("config"));
  for (const json& step : list_in(test.at("inputs"), "steps")) {
    if (step.at("op") != "train_on_batch") throw Missing("op " + step.at("op").dump());
    const Logs logs = model->train_on_batch(tensor_of(step.at("x")), tensor_of(step.at("y")));
    if (const std::string text = compare_logs(test.at("expect"), step.at("expect"), logs); !text.empty()) return text;
  }
  return {};
}

std::string run_evaluate(const json& test) {
  const json &inputs = test.at("inputs"), &expect = test.at("expect");
  const auto model = make_model(test.at("config"));
  const Logs logs = model->evaluate(tensor_of(inputs.at("x")), tensor_of(inputs.at("y")),
                                    {.batch_size = inputs.at("evaluate").value("batch_size", 32), .verbose = 0});
  std::vector<double> list;
  for (const auto& [name, value] : logs.values()) list.push_back(value);
  const std::string text = compare(expect, expect.at("list"), vector_of(list));
  return text.empty() ? compare_logs(expect, expect.at("dict"), logs) : text;
}

std::string run_loop(const json& test) {
  const json &inputs = test.at("inputs"), &expect = test.at("expect");
  const std::int64_t rows = inputs.at("num_samples"), per_execution = test.at("config").at("steps_per_execution");
  const int epochs = inputs.value("epochs", 1);
  FitOptions options{.batch_size = inputs.at("batch_size").get<std::int64_t>(), .epochs = epochs};
  if (inputs.contains("steps_per_epoch")) options.steps_per_epoch = inputs.at("steps_per_epoch").get<std::int64_t>();
  const auto recorder = std::make_shared<Recorder>();

  if (inputs.contains("calls")) {
    const Tensor x = samples::waves(shape_in({rows, 2}));
    Sequential model(samples::summing_unit());
    CompileOptions how = samples::mse();
    how.steps_per_execution = per_execution;
    model.compile(how);
    model.predict(x, {.batch_size = options.batch_size, .verbose = 0, .callbacks = {recorder}});
    model.evaluate(x, samples::signs_of(x), {.batch_size = options.batch_size, .verbose = 0, .callbacks = {recorder}});
    const json& want = expect.at("batch_begin_indices");
    const std::string text = expect_equal("predict", indices(*recorder, "predict_batch_begin"), want);
    return text.empty() ? expect_equal("evaluate", indices(*recorder, "test_batch_begin"), want) : text;
  }

  const auto history = recorded_fit(recorder, rows, per_execution, options);
  const auto begins = indices(*recorder, "batch_begin"), ends = indices(*recorder, "batch_end");
  int batches = 0;
  // When data runs out, Keras calls a begin hook without an end hook.
  for (std::size_t i = 0; i < ends.size(); ++i) batches += ends[i] - begins.at(i) + 1;
  const auto each_epoch = [&](const std::vector<int>& all) { return all.size() / static_cast<std::size_t>(epochs); };
  const std::map<std::string, json> got{
      {"train_batch_begin_calls_per_epoch", each_epoch(begins)},
      {"train_batch_end_calls_per_epoch", each_epoch(ends)},
      {"epochs_begun", recorder->starting_with("epoch_begin").size()},
      {"total_train_batches", batches},
      {"total_train_batch_begin_calls", begins.size()},
  };
  for (const auto& [name, want] : expect.items()) {
    std::string text;
    if (name == "begin_indices")
      text = expect_equal("begins", begins, repeated(want, epochs));
    else if (name == "end_indices")
      text = expect_equal("ends", ends, repeated(want, epochs));
    else if (name == "same_history_as_steps_per_execution_1")
      text = recorded_fit(std::make_shared<Recorder>(), rows, 1, options)->history() == history->history()
                 ? ""
                 : "another history";
    else
      text = expect_equal(name.c_str(), known(got, name), want);
    if (!text.empty()) return text;
  }
  return {};
}

std::string run_callback(const json& test) {
  if (test.at("target") == "Progbar.value") {
    std::string text;
    Logs logs;
    const json& config = test.at("config");
    ProgressBarOptions options{.interval = 0, .sink = [&](std::string_view part) { text += part; }};
    if (!config.at("stateful_metrics").is_null()) options.stateful_metrics = config.at("stateful_metrics");
    if (!config.at("stateless_metrics").is_null()) options.stateless_metrics = config.at("stateless_metrics");
    ProgressBar bar(config.at("target").get<std::int64_t>(), options);
    for (const json& update : list_in(test.at("inputs"), "updates")) {
      for (const auto& [name, value] : update.at(1).items()) logs.set(name, value);
      bar.update(update.at(0), logs);
    }
    const std::string want = test.at("expect").at("last_line_contains"), last = text.substr(text.rfind('\b') + 1);
    return last.find(want) == std::string::npos ? last : "";
  }
  if (test.at("target") != "hook_order") return run_named_callback(test);
  const auto recorder = std::make_shared<Recorder>();
  recorded_fit(
      recorder, test.at("inputs").at("num_samples"), 1,
      {.batch_size = test.at("config").at("batch_size").get<std::int64_t>(), .epochs = test.at("config").at("epochs")});
  for (const auto& [hook, want] : test.at("expect").items()) {
    const json got = want.is_array() ? json(indices(*recorder, hook)) : json(recorder->starting_with(hook).size());
    if (const std::string text = expect_equal(hook.c_str(), got, want); !text.empty()) return text;
  }
  return {};
}

}  // namespace etude::conformance
