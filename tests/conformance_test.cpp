#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstdio>
#include <map>
#include <set>

#include "conformance.hpp"
#include "etude/etude.hpp"
#include "golden.hpp"
#include "support.hpp"

// What the tests of Keras and TensorFlow.js expect: see tests/golden/README.md. Cases that need what Étude does not
// have are counted; all others must run and agree.
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
    {"schedule", run_schedule},
    {"initializer", run_initializer},
    {"fit", run_fit},
    {"train_on_batch", run_train_on_batch},
    {"evaluate", run_evaluate},
    {"loop", run_loop},
    {"callback", run_callback},
    {"data", run_data},
};

const std::vector<const char*> files{"losses",       "metrics",      "optimizers", "schedules", "activations", "layers",
                                     "layer_shapes", "initializers", "training",   "callbacks", "data"};

/// Features that no catalogue tells of.
const std::set<std::string> features{"amsgrad",
                                     "callback/EarlyStopping",
                                     "class_weight",
                                     "clipping",
                                     "ema",
                                     "functional",
                                     "loss_weights",
                                     "progress_bar/stateless_metrics",
                                     "regularizers",
                                     "schedules",
                                     "steps_per_epoch",
                                     "weight_decay"};

template <class Find> bool found(Find&& find) { return testing::error_of(find) == "no error"; }

/// Whether Étude has what a case needs: "loss/…" and its like are in the catalogue of their kind.
bool exists(const std::string& need) {
  const std::size_t slash = need.find('/');
  const std::string kind = need.substr(0, slash), name = slash < need.size() ? need.substr(slash + 1) : "";
  if (kind == "activation") return found([&] { activations::get(name); });
  if (kind == "initializer") return found([&] { initializers::get(name); });
  if (kind == "loss") return found([&] { losses::get(name); });
  if (kind == "optimizer") return found([&] { optimizers::get(name); });
  if (kind == "metric") return found([&] { metrics::check_name(name); });
  return features.contains(need);
}

json cases_of(const char* file) { return testing::golden("conformance_" + std::string(file) + ".json"); }

std::vector<std::string> missing(const json& test) {
  std::vector<std::string> result;
  for (const json& need : test.value("needs", json::array()))
    if (!exists(need)) result.push_back(need);
  return result;
}

/// What is wrong with a case, and what an exception says if it ends in one.
std::string problem_with(const json& test) {
  try {
    return families.at(test["family"])(test);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("conformance: the cases of Keras and TensorFlow.js in float32", "[conformance]") {
  const char* file = GENERATE(from_range(files.begin(), files.end()));
  for (const json& test : cases_of(file)) {
    CAPTURE(test["id"].get<std::string>());
    if (missing(test).empty()) CHECK(problem_with(test) == "");
  }
}

TEST_CASE("conformance: the same in float64, but where float32's own rounding is expected", "[conformance]") {
  // log(1 - (1 - 1e-7)) is -15.94 in float32.
  const std::set<std::string> only_float32{"loss/BinaryCrossentropy/006", "loss/BinaryCrossentropy/009",
                                           "loss/BinaryCrossentropy/012"};
  const testing::FloatX scope(DType::float64);
  const char* file = GENERATE(from_range(files.begin(), files.end()));
  for (const json& test : cases_of(file)) {
    CAPTURE(test["id"].get<std::string>());
    if (missing(test).empty() && !only_float32.contains(test["id"])) CHECK(problem_with(test) == "");
  }
}

TEST_CASE("conformance: what is left out is counted, by what it needs", "[conformance]") {
  std::map<std::string, int> needed;
  int all = 0, left_out = 0;
  for (const char* file : files)
    for (const json& test : cases_of(file)) {
      ++all;
      const auto needs = missing(test);
      left_out += !needs.empty();
      for (const std::string& need : needs) ++needed[need];
    }
  std::string text;
  for (const auto& [need, count] : needed) text += (text.empty() ? "" : ", ") + need + ' ' + std::to_string(count);
  std::printf("conformance: %d of %d cases run; the others need %s\n", all - left_out, all, text.c_str());
  CHECK(left_out < all);
}

}  // namespace etude::conformance
