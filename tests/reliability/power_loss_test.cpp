#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "checkpoint_samples.hpp"
#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "reliability/crash_vfs.hpp"
#include "safetensors_samples.hpp"
#include "training_samples.hpp"

// Power is lost after each operation on the disk; operations before a sync are lost, torn or reordered.
namespace etude {
namespace {

using namespace testing;

/// A run that saves steps 1, 2, …, goes back, and reaches a step again. The marks are the promises: the number of
/// completed saves.
struct Run {
  static constexpr std::int64_t steps[] = {1, 2, 3, 2, 3, 4};
  std::shared_ptr<CrashVfs> files;

  explicit Run(bool forgetful = false) : files(std::make_shared<CrashVfs>(forgetful)) {
    CheckpointStore store("run/checkpoints", {.keep_newest = 2, .keep_best = 1, .files = files});
    int done = 0;
    for (const std::int64_t step : steps) {
      Checkpoint checkpoint = checkpoint_of(step);
      checkpoint.score = static_cast<double>(step % 3);
      if (done % 2)
        store.save_later(checkpoint);
      else
        store.save(checkpoint);
      store.wait();
      files->mark(++done);
    }
  }
};

/// A file of weights that is saved twice, with other values. The marks are the promises: the number of completed saves.
struct TwoSaves {
  std::string path;
  std::shared_ptr<CrashVfs> files;
  /// What the file may hold after none, one or both of them; nothing if it need not exist.
  std::vector<std::optional<std::string>> contents{std::nullopt};

  explicit TwoSaves(std::string name, bool forgetful = false)
      : path(std::move(name)), files(std::make_shared<CrashVfs>(forgetful)) {
    const FilesInMemory scope;
    host().files = files;
    Sequential model(samples::two_dense());
    model.build({-1, 6});
    for (int done = 1; done <= 2; ++done) {
      if (path.ends_with(".keras") || path.ends_with(".json"))
        model.save(path);
      else
        model.save_weights(path);
      files->mark(done);
      contents.emplace_back(content_in(*files));
      model.set_weights({samples::waves({6, 4}), samples::waves({4}), samples::waves({4, 1}), samples::waves({1})});
    }
  }

  /// The file, and those that a model.json names; nothing if there is no file.
  std::optional<std::string> content_in(Vfs& disk) const {
    if (!disk.exists(path)) return {};
    std::string content = text_in(disk, path);
    if (!path.ends_with(".json")) return content;
    const auto json = nlohmann::json::parse(content, nullptr, false);
    if (json.is_discarded()) return content;
    for (const auto& group : json["weightsManifest"])
      for (const auto& name : group["paths"])
        content += disk.exists(name.get<std::string>()) ? text_in(disk, name.get<std::string>()) : "missing";
    return content;
  }

  /// The number of states of the disk in which the file is neither the last one nor the one in progress.
  int bad_states() const {
    Random random(17, RandomStream::step);
    int bad = 0;
    for (std::size_t count = 0; count <= files->operations(); ++count)
      for (const PowerLoss loss : {PowerLoss::none, PowerLoss::all, PowerLoss::torn, PowerLoss::names_only,
                                   PowerLoss::zeros, PowerLoss::bytes_only, PowerLoss::some}) {
        const auto disk = files->after(count, loss, random);
        const std::optional<std::string> found = content_in(*disk);
        const auto done = static_cast<std::size_t>(files->marked(count));
        bad += found != contents[done] && (done == 2 || found != contents[done + 1]);
      }
    return bad;
  }
};

/// The fault of a disk with `done` completed saves, and perhaps one in progress; empty if there is none.
std::string complaint(const std::shared_ptr<MemoryVfs>& files, int done) {
  constexpr int all = std::size(Run::steps);
  const auto is_save = [&](const Checkpoint& checkpoint, int count) {
    return count > 0 && count <= all && is_checkpoint_of(checkpoint, Run::steps[count - 1]);
  };
  Warnings warnings;
  try {
    const auto loaded = load_newest_checkpoint("run/checkpoints", files, warnings.sink());
    if (!loaded && done > 0) return "nothing to go on from";
    if (loaded && !is_save(*loaded, done) && !is_save(*loaded, done + 1)) return "more than one interval is lost";
    CheckpointStore store("run/checkpoints", {.files = files, .warn = warnings.sink()});
    store.save(checkpoint_of(99));
    if (!is_checkpoint_of(store.load_newest().value(), 99)) return "what is saved next is not loaded";
    for (const std::string& name : files->list("run/checkpoints"))
      if (name.starts_with(".tmp-")) return name + " is left";
  } catch (const Error& error) {
    return error.what();
  }
  return warnings.lines.empty() ? "" : warnings.lines.front();
}

struct Outcome {
  int states = 0, bad = 0;
  std::string first;
};

Outcome play(const Run& run, int repeats) {
  Random random(17, RandomStream::step);
  Outcome outcome;
  const auto look = [&](std::size_t count, PowerLoss loss) {
    const std::string wrong = complaint(run.files->after(count, loss, random), run.files->marked(count));
    ++outcome.states;
    if (wrong.empty()) return;
    if (outcome.bad++ == 0)
      outcome.first =
          wrong + " after " + std::to_string(count) + " operations, loss " + std::to_string(static_cast<int>(loss));
  };
  for (std::size_t count = 0; count <= run.files->operations(); ++count) {
    for (const PowerLoss loss :
         {PowerLoss::none, PowerLoss::all, PowerLoss::names_only, PowerLoss::zeros, PowerLoss::bytes_only})
      look(count, loss);
    for (int i = 0; i < repeats; ++i)
      for (const PowerLoss loss : {PowerLoss::torn, PowerLoss::some}) look(count, loss);
  }
  return outcome;
}

}  // namespace

TEST_CASE(
    "reliability: after a loss of power at any point, a run continues from its last checkpoint or the one in progress",
    "[reliability]") {
  const Outcome outcome = play(Run(), rounds(2, 100));
  INFO(outcome.first);
  CHECK(outcome.bad == 0);
  CHECK(outcome.states >= 500);
  if (rounds(0, 1)) WARN(outcome.states << " states of the disk");
}

TEST_CASE("reliability: after a loss of power at any point, a saved file is the previous one or the new one",
          "[reliability]") {
  for (const char* path : {"m.keras", "m.weights.h5", "m.safetensors", "m.npz", "model.json"}) {
    INFO(path);
    CHECK(TwoSaves(path).bad_states() == 0);
    CHECK(TwoSaves(path, true).bad_states() > 0);
  }
}

TEST_CASE("reliability: the same states detect a disk that reports a sync without doing it", "[reliability]") {
  CHECK(play(Run(true), 1).bad > 100);
}

}  // namespace etude
