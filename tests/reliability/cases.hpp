#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace etude::testing {

/// A campaign of numbered cases. Natively each block of them runs in a child process, so that a case that crashes or
/// never ends is named; elsewhere they run in this one.
struct Campaign {
  /// The tag of the hidden test that calls run_as_child.
  std::string tag;
  /// What a case does; what it returns is wrong with it.
  std::function<std::string(std::int64_t)> run;
  /// How many cases a child runs, and how many seconds one of them may take.
  std::int64_t block = 500;
  int seconds = 120;
};

/// Runs the cases from `first` on. Returns a line for each that failed, with its number; no more than ten.
std::vector<std::string> run_cases(const Campaign& campaign, std::int64_t first, std::int64_t count);

/// In the hidden test: runs the cases that the parent asks for; nothing in a process that has no parent, unless
/// ETUDE_CASE names one.
void run_as_child(const Campaign& campaign);

}  // namespace etude::testing
