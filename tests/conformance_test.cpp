#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "conformance.hpp"
#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "golden_path.hpp"
#include "support.hpp"

// The expected results of tests of Keras and TensorFlow.js: see tests/golden/README.md. If ETUDE_CONFORMANCE is set,
// its folder is read instead of tests/golden/conformance: further cases of that form run unchanged. Cases that need a
// class that Étude lacks are skipped and counted by class; all others must agree.
namespace etude::conformance {
namespace {

const std::map<std::string, std::string (*)(const json&)> families{
    {"loss", run_loss},
    {"metric", run_metric},
    {"activation", run_activation},
    {"layer", run_layer},
    {"layer_shape", run_layer_shape},
    {"optimizer", run_optimizer},
    {"optimizer_clip", run_optimizer_clip},
    {"optimizer_loss_scale", run_optimizer_loss_scale},
    {"schedule", run_schedule},
    {"initializer", run_initializer},
    {"regularizer", run_regularizer},
    {"constraint", run_constraint},
    {"fit", run_fit},
    {"train_on_batch", run_train_on_batch},
    {"evaluate", run_evaluate},
    {"loop", run_loop},
    {"callback", run_callback},
    {"data", run_data},
};

std::string chosen_folder() {
  const char* chosen = std::getenv("ETUDE_CONFORMANCE");
  return chosen ? chosen : "";
}
std::string folder() { return chosen_folder().empty() ? testing::golden_path("conformance") : chosen_folder(); }

/// A case, or the reason why it is unreadable.
struct Case {
  std::string id;
  json test;
  std::string unreadable = {};
};

/// The cases of a file.
std::vector<Case> cases_in(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  json list;
  try {
    const auto bytes = read_file(path);
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    list = json::parse(text, text + bytes.size(), [](int depth, json::parse_event_t, const json&) {
      if (depth > 64) throw Missing("lists within lists within lists");
      return true;
    });
  } catch (const std::exception& error) {
    return {{name, {}, error.what()}};
  }
  if (!list.is_array()) return {{name, {}, "no array of cases"}};
  std::vector<Case> cases;
  for (const json& test : list) {
    const std::string place = name + '[' + std::to_string(cases.size()) + ']';
    const bool named = test.is_object() && test.contains("id") && test["id"].is_string();
    cases.push_back({named ? test["id"].get<std::string>() : place, test});
  }
  return cases;
}

std::vector<Case> cases_of(const std::string& folder) {
  std::vector<Case> cases;
  for (const std::string& name : host().files->list(folder))
    if (name.ends_with(".json")) std::ranges::move(cases_in(folder + '/' + name), std::back_inserter(cases));
  return cases;
}

/// Whether the error is about a class, option or name that Étude lacks: `[layer] class "Conv3D" - expected one of: …`,
/// `[Dense] config field "lora_rank" - …`, `[loss] "poisson" - …`.
bool is_missing(std::string_view error) {
  if (!error.starts_with('[') || error.find("] ") == error.npos) return false;
  error.remove_prefix(error.find("] ") + 2);
  for (const std::string_view what : {"class ", "config field "})
    if (error.starts_with(what)) error.remove_prefix(what.size());
  const std::size_t end = error.find('"', 1);
  return error.starts_with('"') && end != error.npos && error.substr(end).starts_with("\" - expected one of: ");
}

struct Outcome {
  enum { passed, failed, skipped } kind;
  std::string text;  // the error, or the missing feature
};

/// Skips cases with missing features, and cases of an unknown form in their family.
Outcome run(const Case& given) {
  const auto unknown_form = [&](const std::string& why) {
    return Outcome{Outcome::skipped, "a form like that of " + given.id + ": " + why};
  };
  if (!given.unreadable.empty()) return unknown_form(given.unreadable);
  try {
    const json& test = given.test;
    const std::string name = test.at("family"), target = test.at("target");
    const auto family = families.find(name);
    if (family == families.end()) throw Missing(name + ' ' + target);
    if (test.at("expect").empty()) throw Missing("expectations");
    const std::string problem = family->second(test);
    return {problem.empty() ? Outcome::passed : Outcome::failed, problem};
  } catch (const Missing& missing) {
    return {Outcome::skipped, missing.what()};
  } catch (const json::exception& error) {
    return unknown_form(error.what());
  } catch (const std::logic_error& error) {
    return unknown_form(error.what());
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return is_missing(text) ? Outcome{Outcome::skipped, text.substr(0, text.find(" - "))}
                            : Outcome{Outcome::failed, text};
  }
}

/// Counts the results of all cases; prints them when the program ends.
struct Tally {
  int counts[3] = {};
  std::map<std::string, int> missing;

  void add(const Outcome& outcome) {
    ++counts[outcome.kind];
    if (outcome.kind == Outcome::skipped) ++missing[outcome.text];
  }
  ~Tally() {
    if (counts[Outcome::passed] + counts[Outcome::failed] + counts[Outcome::skipped] == 0) return;
    for (const auto& [what, count] : missing) std::printf("skipped, missing %s: %d\n", what.c_str(), count);
    std::printf("conformance: %d passed, %d failed, %d skipped\n", counts[Outcome::passed], counts[Outcome::failed],
                counts[Outcome::skipped]);
  }
};
Tally tally;

}  // namespace

TEST_CASE("conformance: the cases of Keras and TensorFlow.js in float32", "[conformance]") {
  for (const Case& test : cases_of(folder())) {
    CAPTURE(test.id);
    const Outcome outcome = run(test);
    tally.add(outcome);
    if (outcome.kind == Outcome::failed) CHECK(outcome.text == "");
  }
  CHECK(tally.counts[Outcome::passed] + tally.counts[Outcome::skipped] > 0);
  if (!chosen_folder().empty()) return;
  CHECK(tally.counts[Outcome::skipped] == 0);
  CHECK(tally.counts[Outcome::passed] >= 1134);
}

TEST_CASE("conformance: the same cases in float64, except those that expect float32's rounding", "[conformance]") {
  // log(1 - (1 - 1e-7)) is -15.94 in float32.
  const std::set<std::string> only_float32{"loss/BinaryCrossentropy/006", "loss/BinaryCrossentropy/009",
                                           "loss/BinaryCrossentropy/012", "metric/BinaryCrossentropy/001"};
  for (const Case& test : cases_of(folder())) {
    CAPTURE(test.id);
    if (only_float32.contains(test.id)) continue;
    const auto& [kind, text] = [&] {
      const testing::FloatX scope(DType::float64);
      return run(test);
    }();
    if (kind == Outcome::failed) CHECK(text == "");
    if (kind == Outcome::skipped) CHECK(run(test).text == text);  // in float32
  }
}

TEST_CASE("conformance: cases of an unknown form are skipped with a reason, and all others run", "[conformance]") {
  const testing::FilesInMemory memory;
  const auto write = [&](const std::string& name, const std::string& text) {
    memory.files->open("cases/" + name, false)->append(text);
  };
  struct Unknown {
    const char *test, *reason;
  };
  const Unknown unknown[] = {
      {R"(5)", "a form like that of b.json[0]"},
      {R"({"id": "no family"})", "a form like that of no family: [json.exception.out_of_range.403] key 'family'"},
      {R"({"family": 3, "target": "Dense", "expect": {"value": 1}})", "a form like that of b.json[2]"},
      {R"({"family": "quantum", "target": "Qubit"})", "quantum Qubit"},
      {R"({"family": "loss", "target": "Wasserstein", "config": {}, "inputs": {}, "expect": {"value": 1}})",
       "[loss] class \"Wasserstein\""},
      {R"({"family": "loss", "target": "Huber", "config": {}, "inputs": {"y_true": [1]}, "expect": {"value": 1}})",
       "y_pred in "},
      {R"({"family": "loss", "target": "Huber", "config": {"delta": "x"}, "inputs": {}, "expect": {"value": 1}})",
       "[Huber] delta = "},
      {R"({"family": "loss", "target": "Huber", "config": 7, "inputs": {}, "expect": {"value": 1}})",
       "class \"Huber\""},
      {R"({"family": "loss", "target": "Huber", "config": {},
           "inputs": {"y_true": [[1, 2], [3]], "y_pred": [[1, 2], [3, 4]]}, "expect": {"value": 1}})",
       "lists of different lengths"},
      {R"({"family": "loss", "target": "Huber", "config": {},
           "inputs": {"y_true": ["one"], "y_pred": [1]}, "expect": {"value": 1}})",
       "number \"one\""},
      {R"({"family": "loss", "target": "Huber", "config": {},
           "inputs": {"y_true": [1], "y_pred": [1], "temperature": 2}, "expect": {"value": 1}})",
       "what reads \"temperature\""},
      {R"({"family": "loss", "target": "Huber", "config": {},
           "inputs": {"y_true": [1], "y_pred": [1]}, "expect": {"values": 1}})",
       "key 'value' not found"},
      {R"({"family": "loss", "target": "Huber", "config": {},
           "inputs": {"y_true": [1], "y_pred": [1]}, "expect": {}})",
       "expectations"},
      {R"({"family": "metric", "target": "MeanSquaredError", "config": {},
           "inputs": {"updates": [{"values": [1]}]}, "expect": {"value": 1}})",
       "y_true in "},
      {R"({"family": "metric", "target": "Mean", "config": {}, "inputs": {"updates": null}, "expect": {"value": 1}})",
       "updates that is no array: null"},
      {R"({"family": "activation", "target": "relu", "config": {}, "inputs": {"x": {"fill": 1, "shape": [1e9, 9]}},
           "expect": {"value": 1}})",
       "shape "},
      {R"({"family": "initializer", "target": "Ones", "config": {}, "inputs": {"shape": [1000000, 1000000]},
           "expect": {"value": 1}})",
       "room for shape"},
      {R"({"family": "layer", "target": "Flatten", "config": {}, "inputs": {"calls": [{"reset_state": true}]},
           "expect": {"value": 1}})",
       "reset_state of \"Flatten\""},
      {R"({"family": "layer", "target": "Flatten", "config": {}, "inputs": {"calls": [{"args": []}]},
           "expect": {"value": 1}})",
       "array index 0 is out of range"},
      {R"({"family": "layer", "target": "Flatten", "config": {}, "inputs": {"calls": [{"args": [[[1]]]}]},
           "expect": {"value": 1, "index": "slice:0:1:1"}})",
       "index \"slice:0:1:1\""},
      {R"({"family": "layer_shape", "target": "Flatten", "config": {}, "inputs": {"input_shape": 3},
           "expect": {"output_shape": [2, 1]}})",
       "input_shape = 3"},
      {R"({"family": "optimizer", "target": "SGD", "config": {}, "inputs": {"variables": [{"name": "v", "value": [1]}],
           "grads_per_step": [[[1]]]}, "expect": {"checkpoints": [{"after_steps": 1, "variable": 7, "value": [1]}]}})",
       "a form like that of b.json"},
      {R"({"family": "optimizer", "target": "SGD", "config": {}, "inputs": {"variables": [{"name": "v", "value": [1]}],
           "grads_per_step": [[[1], [2]]]}, "expect": {"checkpoints": []}})",
       "gradients "},
      {R"({"family": "fit", "target": "fit", "config": {"layers": null, "compile": {"optimizer": "sgd", "loss": "mse"}},
           "inputs": {"x": [[1]], "y": [[1]], "fit": {}}, "expect": {"history": {}}})",
       "layers that is no array"},
      {R"({"family": "fit", "target": "fit", "config": {}, "inputs": {"x": [[1]], "y": [[1]], "fit": {"warp": 9}},
           "expect": {"history": {}}})",
       "what reads \"warp\""},
      {R"({"family": "loop", "target": "loop", "config": {"steps_per_execution": 1},
           "inputs": {"num_samples": 4, "batch_size": 2}, "expect": {"laps": 2}})",
       "expectation \"laps\""},
      {R"({"family": "data", "target": "DistributedBatchSampler", "config": {"num_data_shards": 0, "drop_last": true},
           "inputs": {"num_batches": 3}, "expect": {"batches_per_shard": []}})",
       "so many batches and shards"},
      {R"({"family": "callback", "target": "Telepathy", "config": {}, "inputs": {}, "expect": {"thought": 1}})",
       "callback Telepathy"},
  };
  std::string list;
  for (const Unknown& each : unknown) list += std::string(list.empty() ? "[" : ",\n") + each.test;
  memory.files->make_folder("cases");
  write("a.json", "no JSON {");
  write("b.json", list + "]");
  write("c.json", R"({"id": "alone"})");
  write("d.json", std::string(100'000, '[') + std::string(100'000, ']'));
  write("e.json", R"([{"id": "good", "family": "loss", "target": "MeanSquaredError", "config": {},
                      "inputs": {"y_true": [[1]], "y_pred": [[3]]}, "expect": {"value": 4}}])");

  const std::vector<Case> cases = cases_of("cases");
  REQUIRE(cases.size() == std::size(unknown) + 4);
  const auto skips = [](const Case& test, std::string_view reason) {
    const Outcome outcome = run(test);
    CAPTURE(test.id, test.test.dump(), outcome.text);
    CHECK(outcome.kind == Outcome::skipped);
    CHECK(outcome.text.find(reason) != std::string::npos);
  };
  skips(cases[0], "a form like that of a.json: [json.exception.parse_error.101]");
  for (std::size_t i = 0; i < std::size(unknown); ++i) skips(cases[i + 1], unknown[i].reason);
  skips(cases[std::size(unknown) + 1], "a form like that of c.json: no array of cases");
  skips(cases[std::size(unknown) + 2], "a form like that of d.json: lists within lists");
  CHECK(run(cases.back()).kind == Outcome::passed);
}

}  // namespace etude::conformance
