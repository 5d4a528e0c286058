#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "trials.hpp"

namespace etude::experiment {
namespace {

using Catch::Matchers::ContainsSubstring;
using Uuids = std::vector<std::string>;

/// The epochs of the checkpoints of a trial.
std::vector<std::int64_t> epochs_of(const Trial& trial) {
  std::vector<std::int64_t> epochs;
  for (const StoredCheckpoint& stored : trial.checkpoints()) epochs.push_back(stored.metadata.integer("epoch"));
  return epochs;
}

}  // namespace

TEST_CASE("experiment: the union of the retention rules stays", "[experiment]") {
  // The table of "Checkpoint Garbage Collection" in Determined's reference of experiment configurations, 0.38.
  std::vector<StoredCheckpoint> all;
  const auto add = [&](const char* trial, std::optional<double> score) {
    const std::size_t number = all.size() + 1;
    all.push_back({.uuid = std::to_string(number), .trial_id = trial, .serial = number, .score = score});
  };
  for (const std::optional<double> score : {std::optional<double>(), {}, {0.6}, {0.5}, {0.4}}) add("1", score);
  for (const std::optional<double> score : {std::optional<double>(), {0.2}, {0.3}, {}, {}}) add("2", score);
  const auto [experiment_best, trial_best, trial_latest, kept] =
      GENERATE(std::tuple(0, 0, 0, Uuids{}), std::tuple(2, 0, 0, Uuids{"7", "8"}),
               std::tuple(5, 0, 0, Uuids{"3", "4", "5", "7", "8"}), std::tuple(0, 1, 0, Uuids{"5", "7"}),
               std::tuple(0, 3, 0, Uuids{"3", "4", "5", "7", "8"}), std::tuple(0, 0, 1, Uuids{"5", "10"}),
               std::tuple(0, 0, 3, Uuids{"3", "4", "5", "8", "9", "10"}), std::tuple(2, 1, 0, Uuids{"5", "7", "8"}),
               std::tuple(2, 0, 1, Uuids{"5", "7", "8", "10"}), std::tuple(0, 1, 1, Uuids{"5", "7", "10"}),
               std::tuple(2, 1, 1, Uuids{"5", "7", "8", "10"}));
  RetentionRules rules{experiment_best, trial_best, trial_latest};
  CHECK(kept_checkpoints(all, rules) == kept);
  // The same if greater scores are better, and all are negated.
  rules.smaller_is_better = false;
  for (StoredCheckpoint& checkpoint : all)
    if (checkpoint.score) checkpoint.score = -*checkpoint.score;
  CHECK(kept_checkpoints(all, rules) == kept);
}

TEST_CASE("experiment: checkpoints appear when they are complete, and are removed as a whole", "[experiment]") {
  const Trial trial;
  std::string uuid;
  {
    Context context(trial.with_files());
    {
      NewCheckpoint made = context.checkpoint.store_path({{"steps_completed", 7}, {"note", "first"}});
      trial.files->open(made.path() + "/weights", false)->append("w");
      CHECK(context.checkpoint.list().empty());
      made.commit(0.5);
      uuid = made.uuid();
      const NewCheckpoint abandoned = context.checkpoint.store_path();
    }
    REQUIRE(context.checkpoint.list().size() == 1);
    const StoredCheckpoint stored = context.checkpoint.list().front();
    CHECK(stored.trial_id == "1");
    CHECK(stored.score == 0.5);
    CHECK(stored.metadata.integer("steps_completed") == 7);
    CHECK(stored.metadata.text("note") == "first");
    CHECK(text_in(*trial.files, context.checkpoint.restore_path(uuid) + "/weights") == "w");
    CHECK(trial.files->list("trial/checkpoints") == Uuids{uuid});
    CHECK_THAT(error_of([&] { static_cast<void>(context.checkpoint.restore_path("x")); }),
               ContainsSubstring("expected the uuid of a checkpoint in \"trial/checkpoints\""));
  }
  // What a killed program left is removed; that of another trial stays.
  const std::string unfinished = "trial/checkpoints/.tmp-1-" + uuid, other = "trial/checkpoints/.tmp-2-" + uuid;
  trial.files->make_folder(unfinished);
  trial.files->make_folder(other);
  Context context(trial.with_files());
  CHECK_FALSE(trial.files->exists(unfinished));
  CHECK(trial.files->exists(other));
  CHECK_FALSE(context.info.latest_checkpoint.has_value());  // it is no state of a training
  context.checkpoint.remove(uuid);
  CHECK(context.checkpoint.list().empty());
}

TEST_CASE("experiment: the checkpoint of another trial gives its weights only", "[experiment]") {
  Trial first;
  first.run();
  const StoredCheckpoint stored = first.checkpoints().back();
  const ModelPtr trained = Context(first.with_files()).load_model_from_checkpoint(stored.uuid);
  Trial fork;
  fork.files = first.files;
  fork.config.trial.trial_id = "2";
  fork.training.checkpoint = stored.uuid;
  std::vector<Tensor> weights;
  std::int64_t iterations = -1;
  std::int64_t epochs = 0;
  class Look : public Callback {
   public:
    std::function<void(Model&, int)> see;
    void on_epoch_begin(int epoch, Logs&) override { see(model(), epoch); }
  };
  const auto looking = std::make_shared<Look>();
  looking->see = [&](Model& model, int epoch) {
    ++epochs;
    if (epoch != 0) return;
    weights = model.get_weights();
    iterations = model.optimizer().iterations();
  };
  fork.script.further = {looking};
  bool request = false;
  fork.config.preempt.requested = [&] { return request; };
  fork.script.further.push_back(std::make_shared<Requester>(request, 20));
  CHECK_THROWS_AS(fork.run(), Preempted);
  CHECK(epochs == 2);
  CHECK(iterations == 0);
  const std::vector<Tensor> wanted = trained->get_weights();
  REQUIRE(weights.size() == wanted.size());
  for (std::size_t i = 0; i < weights.size(); ++i) CHECK(testing::same_bits(weights[i], wanted[i]));
  // Started again, it continues from its own checkpoint.
  request = false;
  fork.script.further.pop_back();
  fork.run();
  CHECK(epochs == 3);
  // A trial that continues the other one has nothing left to do.
  fork.config.trial.trial_id = "3";
  fork.training.continue_id = "1";
  CHECK(fork.run().epochs == std::vector<int>{0, 1});
  CHECK(epochs == 3);
}

TEST_CASE("experiment: a trial keeps its best and its newest checkpoint, and loads the best by its id",
          "[experiment]") {
  Trial trial;
  trial.script.epochs = 5;
  trial.script.patience = 9;
  const Outcome outcome = trial.run();
  const std::vector<double>& losses =
      std::ranges::find(outcome.history, "val_loss", [](const auto& entry) { return entry.first; })->second;
  const auto best = std::ranges::min_element(losses) - losses.begin();
  CHECK(epochs_of(trial) == (best == 4 ? std::vector<std::int64_t>{4} : std::vector<std::int64_t>{best, 4}));
  Context context(trial.with_files());
  const ModelPtr model = context.load_model_from_checkpoint("1");
  const Tensor x = waves({12, 5}, 0.5);
  CHECK(model->evaluate(x, signs_of(x), {.verbose = 0})["loss"] ==
        Catch::Approx(losses[static_cast<std::size_t>(best)]));
  CHECK_THAT(error_of([&] { static_cast<void>(context.load_model_from_checkpoint("3")); }),
             ContainsSubstring("\"3\" - expected the uuid of a checkpoint"));
}

TEST_CASE("experiment: the checkpoint policy says after which validations there is a checkpoint, also after a restart",
          "[experiment]") {
  Trial trial;
  trial.script.epochs = 5;
  trial.script.patience = 9;
  trial.training.checkpoint_freq = std::nullopt;
  trial.config.retention = {.save_trial_best = 0, .save_trial_latest = 9};
  SECTION("best: better than all before") {
    trial.config.retention.smaller_is_better = false;  // the loss falls: the first ones are the best
    CHECK_THROWS_AS(trial.run(40), Interruption);      // in the third epoch
    const Outcome outcome = trial.run();
    const auto losses =
        std::ranges::find(outcome.history, "val_loss", [](const auto& entry) { return entry.first; })->second;
    std::vector<std::int64_t> expected;
    for (std::size_t epoch = 0; epoch < losses.size(); ++epoch) {
      const auto before = losses.begin() + static_cast<std::ptrdiff_t>(epoch);
      if (std::all_of(losses.begin(), before, [&](double loss) { return loss < losses[epoch]; }))
        expected.push_back(static_cast<std::int64_t>(epoch));
    }
    REQUIRE(expected.size() < 4);
    if (expected.back() != 4) expected.push_back(4);  // the end
    CHECK(epochs_of(trial) == expected);
  }
  SECTION("all") {
    trial.training.checkpoint_policy = "all";
    trial.run();
    CHECK(epochs_of(trial) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  }
  SECTION("none: only at the end") {
    trial.training.checkpoint_policy = "none";
    trial.run();
    CHECK(epochs_of(trial) == std::vector<std::int64_t>{4});
  }
  SECTION("an unknown one is an error") {
    trial.training.checkpoint_policy = "often";
    CHECK_THAT(error_of([&] { trial.run(); }), ContainsSubstring("expected \"best\", \"all\" or \"none\""));
  }
}

}  // namespace etude::experiment
