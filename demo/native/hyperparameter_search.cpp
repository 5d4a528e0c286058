// Searches for the hyperparameters of a program: hyperparameter_search ./trial
#include <cstdio>
#include <etude/etude.hpp>

namespace {

using namespace etude;
namespace hp = experiment::hyperparameters;

experiment::SearchConfig config() {
  return {
      .name = "ring",
      .searcher =
          {.name = "asha", .metric = "loss", .time_metric = "epochs", .max_time = 10, .max_trials = 8, .max_rungs = 2},
      .space = {{"learning_rate", hp::log(-4, -1)}, {"units", hp::integer(4, 64)}},
      .storage = "ring_search",
      .seed = 1};
}

int search(const std::vector<std::string>& program) {
  const experiment::SearchResult result = experiment::run_search(
      config(), {.program = program, .report = [](const experiment::TrialReport& trial, const std::string& change) {
                   std::printf("trial %d %s\n", trial.trial, change.c_str());
                 }});
  if (result.best == 0) return 1;
  const experiment::TrialReport& best = result.trials.at(static_cast<std::size_t>(result.best) - 1);
  std::printf("loss %.3f with %s\n", *best.best, best.hparams.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return search({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
