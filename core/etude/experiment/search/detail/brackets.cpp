#include "etude/experiment/search/detail/brackets.hpp"

#include <algorithm>

namespace etude::experiment {
namespace {

/// divisor^exponent. A product has the same bits on all targets, which std::pow does not promise.
double power(double divisor, int exponent) {
  double result = 1;
  while (exponent-- > 0) result *= divisor;
  return result;
}

/// The number of powers of the divisor, from 1 on, that are at most `limit`, up to `most`. Determined rounds
/// logarithms, by which 1000 has two powers of 10 above 1.
int powers_within(double limit, double divisor, int most) {
  int count = 1;
  for (double next = divisor; count < most && next <= limit; next *= divisor) ++count;
  return count;
}

/// The numbers of rungs, largest first: brackets that stop more trials begin.
std::vector<int> bracket_rungs(const SearcherOptions& searcher) {
  const int within_time = powers_within(static_cast<double>(searcher.max_time), searcher.divisor, searcher.max_rungs);
  const int most = powers_within(searcher.max_trials, searcher.divisor, within_time);
  const int least = searcher.mode == "conservative" ? 1 : searcher.mode == "standard" ? (most - 1) / 2 + 1 : most;
  std::vector<int> rungs;
  for (int count = most; count >= least; --count) rungs.push_back(count);
  return rungs;
}

Bracket asha(const SearcherOptions& searcher, int rungs, int max_trials, int concurrent) {
  // So many that one of them reaches the top.
  const double enough = power(searcher.divisor, rungs - 1);
  const int initial = concurrent > 0 ? concurrent : enough < max_trials ? static_cast<int>(enough) : max_trials;
  return {max_trials, std::clamp(initial, 1, max_trials), make_rungs(rungs, searcher.divisor, searcher.max_time)};
}

}  // namespace

std::int64_t Rung::insert(int trial, double metric) {
  const auto place = std::ranges::lower_bound(entries, metric, {}, &Entry::metric);
  const auto rank = place - entries.begin();
  entries.insert(place, {trial, metric});
  return rank;
}

void Rung::remove(int trial) {
  std::erase_if(entries, [&](const Entry& entry) { return entry.trial == trial; });
}

std::vector<Rung> make_rungs(int rungs, double divisor, std::int64_t max_time) {
  std::vector<Rung> result;
  for (int r = 0; r < rungs; ++r) {
    const double time = static_cast<double>(max_time) / power(divisor, rungs - 1 - r);
    result.push_back({std::max<std::int64_t>(1, static_cast<std::int64_t>(time)), {}});
  }
  return result;
}

std::vector<int> bracket_trials(int max_trials, double divisor, const std::vector<int>& rungs) {
  std::vector<double> weights;
  double total = 0;
  for (const int count : rungs) total += weights.emplace_back(power(divisor, count - 1) / count);
  std::vector<int> trials;
  int allocated = 0;
  for (const double weight : weights)
    allocated += trials.emplace_back(std::max(1, static_cast<int>(weight / total * max_trials)));
  trials.front() += std::max(0, max_trials - allocated);
  return trials;
}

std::vector<int> bracket_concurrency(int max_concurrent, double divisor, const std::vector<int>& trials) {
  const int brackets = static_cast<int>(trials.size());
  // Without a limit: as many as the last bracket has, the smallest one.
  if (max_concurrent == 0) {
    const int each = divisor < trials.back() ? trials.back() : static_cast<int>(std::min(divisor, 1e6));
    return std::vector<int>(trials.size(), each);
  }
  max_concurrent = std::max(max_concurrent, brackets);
  std::vector<int> result(trials.size(), max_concurrent / brackets);
  for (int i = 0; i < max_concurrent % brackets; ++i) ++result[static_cast<std::size_t>(i)];
  return result;
}

std::vector<Bracket> make_brackets(const SearcherOptions& searcher, const Hyperparameters& space) {
  const int concurrent = searcher.max_concurrent_trials;
  if (searcher.name == "asha") return {asha(searcher, searcher.max_rungs, searcher.max_trials, concurrent)};
  if (searcher.name == "adaptive_asha") {
    const std::vector<int> rungs = bracket_rungs(searcher);
    const std::vector<int> trials = bracket_trials(searcher.max_trials, searcher.divisor, rungs);
    const std::vector<int> each = bracket_concurrency(concurrent, searcher.divisor, trials);
    std::vector<Bracket> brackets;
    for (std::size_t i = 0; i < rungs.size(); ++i) brackets.push_back(asha(searcher, rungs[i], trials[i], each[i]));
    return brackets;
  }
  const int trials = searcher.name == "single" ? 1
                     : searcher.name == "grid" ? static_cast<int>(grid_size(space))
                                               : searcher.max_trials;
  return {{trials, concurrent > 0 ? std::min(concurrent, trials) : trials, {}}};
}

}  // namespace etude::experiment
