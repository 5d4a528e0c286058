#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace etude::testing {

/// A campaign of numbered cases. Natively each block of 500 cases runs in a child process, one after another: a case
/// that fails, crashes or hangs is named, and another child continues with the next one. On other targets all run in
/// this process; tests/reliability/run_cases.mjs then does the parent's work from outside.
struct Campaign {
  /// The tag of the hidden test that calls run_as_child.
  std::string tag;
  /// Runs a case, and returns its fault.
  std::function<std::string(std::int64_t)> run;
  /// The most cases of a child, and the seconds that one of them may take.
  std::int64_t block = 500;
  int seconds = 120;
};

/// Runs the cases from `first` on. Returns a line for each failed one, with its number; at most ten.
std::vector<std::string> run_cases(const Campaign& campaign, std::int64_t first, std::int64_t count);

/// In the hidden test: runs the cases that the parent requests. In a process without a parent: the case in ETUDE_CASE,
/// or those of ETUDE_CASES_FIRST and ETUDE_CASES_COUNT, each announced by a line of standard output, and each fault
/// reported by another line; nothing if neither is set.
void run_as_child(const Campaign& campaign);

}  // namespace etude::testing
