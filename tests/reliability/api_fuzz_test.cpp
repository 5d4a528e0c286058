#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "checkpoint_samples.hpp"
#include "class_lists.hpp"
#include "etude/saving/config.hpp"
#include "reliability/api_case.hpp"
#include "reliability/cases.hpp"

// Random calls of random valid and invalid models. To run a single case:
// ETUDE_CASE=17 etude_tests '[api_case]'
namespace etude {
namespace {

using namespace testing;

const Campaign campaign{.tag = "[api_case]", .run = [](std::int64_t number) {
                          return run_api_case(static_cast<std::uint64_t>(number)).wrong;
                        }};

}  // namespace

TEST_CASE("the process that runs cases of the API campaign", "[.][api_case]") { run_as_child(campaign); }

TEST_CASE("reliability: any model from a config, in any call, throws only Errors", "[reliability]") {
  for (const std::string& failure : run_cases(campaign, 0, rounds(300, 200'000))) FAIL_CHECK(failure);
}

TEST_CASE("reliability: the API campaign trains all layers of models, and most of its calls succeed", "[reliability]") {
#ifdef __EMSCRIPTEN__
  if (rounds(0, 1) == 0) SKIP("The cases are those of the native test, and take minutes without optimization.");
#endif
  CaseReport all;
  const std::vector<std::string> names = layers_of_models();
  const auto is_trained = [&](const std::string& name) { return all.trained.contains(name); };
  for (std::uint64_t number = 0; number < 400 || !std::ranges::all_of(names, is_trained); ++number) {
    if (number == 300 * names.size()) break;
    CaseReport report = run_api_case(number);
    all.done += report.done;
    all.refused += report.refused;
    all.trained.merge(report.trained);
  }
  INFO(all.done << " calls succeeded, " << all.refused << " were refused");
  CHECK(all.done > all.refused);
  CHECK(all.refused > 100);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(all.trained.contains(name));
  }
}

}  // namespace etude
