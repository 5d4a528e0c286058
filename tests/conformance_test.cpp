#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>

#include "conformance.hpp"
#include "etude/etude.hpp"
#include "support.hpp"

// What the tests of Keras and TensorFlow.js expect: see tests/golden/README.md. The folder that ETUDE_CONFORMANCE names
// is read instead of tests/golden/conformance, if it is set: any further cases of that form run as they are. Cases that
// need a class that Étude does not have are skipped and counted by it; all others must agree.
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
    {"fit", run_fit},
    {"train_on_batch", run_train_on_batch},
    {"evaluate", run_evaluate},
    {"loop", run_loop},
    {"callback", run_callback},
    {"data", run_data},
};

std::vector<std::string> files() {
  const char* chosen = std::getenv("ETUDE_CONFORMANCE");
  const std::string folder = chosen ? chosen : ETUDE_GOLDEN_DIR "/conformance";
  std::vector<std::string> result;
  for (const std::string& name : host_vfs()->list(folder))
    if (name.ends_with(".json")) result.push_back(folder + '/' + name);
  return result;
}

json cases_in(const std::string& path) {
  const auto bytes = read_file(path);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return json::parse(text, text + bytes.size());
}

/// Whether Étude says that it lacks a class, one of its options, or what goes by a name: `[layer] class "Conv3D" -
/// expected one of: …`, `[Dense] config field "lora_rank" - …`, `[loss] "poisson" - …`.
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
  std::string text;  // what is wrong, or missing
};

Outcome run(const json& test) {
  try {
    const auto family = families.find(test["family"]);
    if (family == families.end())
      throw Missing(test["family"].get<std::string>() + ' ' + test["target"].get<std::string>());
    const std::string problem = family->second(test);
    return {problem.empty() ? Outcome::passed : Outcome::failed, problem};
  } catch (const Missing& missing) {
    return {Outcome::skipped, missing.what()};
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return is_missing(text) ? Outcome{Outcome::skipped, text.substr(0, text.find(" - "))}
                            : Outcome{Outcome::failed, text};
  }
}

/// How all cases went; says so when the program ends.
struct Tally {
  int counts[3] = {};
  std::map<std::string, int> missing;

  void add(const Outcome& outcome) {
    ++counts[outcome.kind];
    if (outcome.kind == Outcome::skipped) ++missing[outcome.text];
  }
  ~Tally() {
    if (counts[Outcome::passed] + counts[Outcome::failed] + counts[Outcome::skipped] == 0) return;
    for (const auto& [what, count] : missing) std::printf("skipped for want of %s: %d\n", what.c_str(), count);
    std::printf("conformance: %d passed, %d failed, %d skipped\n", counts[Outcome::passed], counts[Outcome::failed],
                counts[Outcome::skipped]);
  }
};
Tally tally;

}  // namespace

TEST_CASE("conformance: the cases of Keras and TensorFlow.js in float32", "[conformance]") {
  for (const std::string& file : files())
    for (const json& test : cases_in(file)) {
      CAPTURE(test["id"].get<std::string>());
      const Outcome outcome = run(test);
      tally.add(outcome);
      if (outcome.kind == Outcome::failed) CHECK(outcome.text == "");
    }
  CHECK(tally.counts[Outcome::passed] > 0);
}

TEST_CASE("conformance: the same in float64, but where float32's own rounding is expected", "[conformance]") {
  // log(1 - (1 - 1e-7)) is -15.94 in float32.
  const std::set<std::string> only_float32{"loss/BinaryCrossentropy/006", "loss/BinaryCrossentropy/009",
                                           "loss/BinaryCrossentropy/012", "metric/BinaryCrossentropy/001"};
  const testing::FloatX scope(DType::float64);
  for (const std::string& file : files())
    for (const json& test : cases_in(file)) {
      CAPTURE(test["id"].get<std::string>());
      if (only_float32.contains(test["id"])) continue;
      const auto& [kind, text] = run(test);
      if (kind == Outcome::failed) CHECK(text == "");
    }
}

}  // namespace etude::conformance
