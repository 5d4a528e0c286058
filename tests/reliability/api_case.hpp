#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace etude::testing {

/// The result of one case of the API campaign.
struct CaseReport {
  /// The library's fault; empty if there was none.
  std::string wrong;
  /// The numbers of calls that succeeded, and that threw an Error or bad_alloc.
  int done = 0, refused = 0;
  /// The layers of models that were trained.
  std::set<std::string> trained;
};

/// Creates the random model of that number and calls its public functions in a random order, with valid and with
/// invalid arguments. After each error another model must train as before.
CaseReport run_api_case(std::uint64_t number);

}  // namespace etude::testing
