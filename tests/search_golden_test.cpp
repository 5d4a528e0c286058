#include <catch2/catch_test_macros.hpp>

#include "etude/experiment/search/search.hpp"
#include "golden.hpp"

// Recorded searches, which tests/node/search.test.mjs replays in JavaScript.
namespace etude::experiment {
namespace {

using nlohmann::json;

json json_of(const SearchOperation& operation) {
  if (operation.kind == SearchOperation::Kind::done) return {{"kind", "done"}};
  if (operation.kind == SearchOperation::Kind::stop) return {{"kind", "stop"}, {"trial", operation.trial}};
  return {{"kind", "create"},
          {"trial", operation.trial},
          {"trialSeed", operation.trial_seed},
          {"hparams", json::parse(operation.hparams)}};
}
json json_of(const SearchOperations& operations) {
  json list = json::array();
  for (const SearchOperation& each : operations) list.push_back(json_of(each));
  return list;
}

/// Makes a recorded call: a name and its arguments.
SearchOperations make_call(HyperparameterSearch& search, const json& call) {
  const std::string name = call.at(0);
  if (name == "start") return search.start();
  if (name == "validated") return search.validated(call.at(1), call.at(2), call.at(3));
  const std::string end = call.at(2);
  return search.exited(call.at(1), end == "finished" ? TrialEnd::finished
                                   : end == "failed" ? TrialEnd::failed
                                                     : TrialEnd::invalid);
}

TEST_CASE("recorded searches give the same decisions here as in JavaScript", "[search]") {
  for (const json& recorded : testing::golden("../search/searches.json")) {
    const SearchConfig config = search_config_from_json(recorded.at("config").dump());
    INFO(config.searcher.name);
    HyperparameterSearch search(config.searcher, config.space, config.seed);
    for (const json& event : recorded.at("events")) {
      INFO(event.at("call"));
      CHECK(json_of(make_call(search, event.at("call"))) == event.at("operations"));
    }
    CHECK(search.done());
    CHECK(json::parse(search.snapshot()) == recorded.at("snapshot"));
  }
}

}  // namespace
}  // namespace etude::experiment
