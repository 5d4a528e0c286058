#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "environment_variable.hpp"
#include "trials.hpp"

namespace etude::experiment {
namespace {

using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE("experiment: a trial begins with the file that its environment names", "[experiment]") {
  const auto files = std::make_shared<MemoryVfs>();
  const testing::EnvironmentVariable variable("ETUDE_TRIAL", "trial.json");
  const auto write = [&](const std::string& text) { files->open("trial.json", false)->append(text); };
  write(R"({"trial_id": 3, "experiment_id": "e", "trial_seed": 7, "storage": "trials/3", "latest_checkpoint": null,
            "retention": {"save_experiment_best": 2, "save_trial_latest": 0},
            "checkpoint_storage": "all", "metric": "val_accuracy", "smaller_is_better": false,
            "hparams": {"rate": 1, "units": 8.0, "bias": true, "act": "relu", "sizes": [1, 2.5],
                        "optimizer": {"name": "sgd"}}})");
  Context context({.files = files});
  CHECK(context.info.trial.trial_id == "3");
  CHECK(context.info.trial.trial_seed == 7);
  CHECK_FALSE(context.info.detached);
  CHECK(context.metric() == "accuracy");
  CHECK(context.retention() ==
        RetentionRules{.save_experiment_best = 2, .save_trial_latest = 0, .smaller_is_better = false});
  CHECK(context.checkpoint.folder() == "all");
  const Settings& hparams = context.info.trial.hparams;
  CHECK(hparams.number("rate") == 1);
  CHECK(hparams.integer("units") == 8);
  CHECK(hparams.flag("bias"));
  CHECK(hparams.text("act") == "relu");
  CHECK(hparams.numbers("sizes") == std::vector<double>{1, 2.5});
  CHECK(hparams.group("optimizer").text("name") == "sgd");
  CHECK(hparams.number("momentum", 0.9) == 0.9);
  CHECK(hparams.names() == Texts{"rate", "units", "bias", "act", "sizes", "optimizer"});
  CHECK_THAT(error_of([&] { hparams.group("optimizer").number("decay"); }),
             ContainsSubstring("[hparams.optimizer] no value \"decay\" - expected one of: \"name\""));
  CHECK_THAT(error_of([&] { hparams.integer("act"); }),
             ContainsSubstring("[hparams] \"act\" = \"relu\" - expected a number without a fraction"));

  const auto refusal = [&](const std::string& text) {
    write(text);
    return error_of([&] { cluster_info(files); });
  };
  CHECK_THAT(refusal(R"({"trial_id": 3, "hparams": {}})"), ContainsSubstring("\"trial.json\" has no \"storage\""));
  CHECK_THAT(refusal(R"({"trial_id": "a/b", "hparams": {}, "storage": "s"})"),
             ContainsSubstring("trial_id = \"a/b\" - expected letters"));
  CHECK_THAT(refusal(R"({"trial_id": 1, "hparams": [], "storage": "s"})"),
             ContainsSubstring("\"hparams\" = [] in \"trial.json\" - expected an object"));
  CHECK_THAT(refusal(R"({"trial_id": 1, "hparams": {}, "storage": "s", "retention": {"save_trial_best": 5000000000}})"),
             ContainsSubstring("\"save_trial_best\" = 5000000000 in \"trial.json\" - expected a number of 0 or more"));
  CHECK_THAT(refusal("[1]"), ContainsSubstring("is no JSON object"));
  files->remove("trial.json");
  CHECK_THAT(error_of([&] { cluster_info(files); }), ContainsSubstring("which does not exist"));
}

TEST_CASE("experiment: the information has the rank and the addresses of the processes that TF_CONFIG lists",
          "[experiment]") {
  const testing::EnvironmentVariable no_trial("ETUDE_TRIAL", nullptr);
  const auto info_of = [](const char* config) {
    const testing::EnvironmentVariable variable("TF_CONFIG", config);
    return cluster_info();
  };
  const ClusterInfo third = info_of(
      R"({"cluster": {"chief": ["a:1"], "worker": ["b:2", "[::1]:3"]}, "task": {"type": "worker", "index": 1}})");
  CHECK(third.container_rank == 2);
  CHECK(third.container_addrs == Texts{"a", "b", "[::1]"});
  for (const char* config : {static_cast<const char*>(nullptr), "no JSON", "[]", R"({"cluster": 1})"}) {
    const ClusterInfo alone = info_of(config);
    CHECK(alone.container_rank == 0);
    CHECK(alone.container_addrs == Texts{"127.0.0.1"});
  }
}

}  // namespace etude::experiment
