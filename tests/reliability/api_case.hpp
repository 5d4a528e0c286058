#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace etude::testing {

/// What came of one case of the API campaign.
struct CaseReport {
  /// What the library did that it must not do; empty if all was well.
  std::string wrong;
  /// How many calls succeeded, and how many threw an Error or bad_alloc.
  int done = 0, refused = 0;
  /// The layers of models that were trained.
  std::set<std::string> trained;
};

/// Makes the random model of that number and calls its public functions in a random order, with sound and with
/// malformed arguments. After each refusal another model has to train as before.
CaseReport run_api_case(std::uint64_t number);

}  // namespace etude::testing
