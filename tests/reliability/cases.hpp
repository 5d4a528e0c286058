#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace etude::testing {

/// A campaign of numbered cases. Natively each block of 500 of them runs in a child process, one after another: a case
/// that fails, crashes or never ends is named, and another child goes on with the next one. Elsewhere all run in this
/// process; tests/reliability/run_cases.mjs then does from outside what the parent does here.
struct Campaign {
  /// The tag of the hidden test that calls run_as_child.
  std::string tag;
  /// What a case does; what it returns is wrong with it.
  std::function<std::string(std::int64_t)> run;
  /// How many cases a child runs at most, and how many seconds one of them may take.
  std::int64_t block = 500;
  int seconds = 120;
};

/// Runs the cases from `first` on. Returns a line for each that failed, with its number; no more than ten.
std::vector<std::string> run_cases(const Campaign& campaign, std::int64_t first, std::int64_t count);

/// In the hidden test: runs the cases that the parent asks for. In a process that has no parent: the case that
/// ETUDE_CASE names, or those that ETUDE_CASES_FIRST and ETUDE_CASES_COUNT name, each announced by a line of standard
/// output, and what is wrong with one by another; nothing if neither is set.
void run_as_child(const Campaign& campaign);

}  // namespace etude::testing
