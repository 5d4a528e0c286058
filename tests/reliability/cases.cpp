#include "reliability/cases.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "reliability/child.hpp"
#include "scratch_folder.hpp"

namespace etude::testing {
namespace {

constexpr const char* first_name = "ETUDE_CASES_FIRST";
constexpr const char* count_name = "ETUDE_CASES_COUNT";

std::int64_t number_in(const char* variable) { return std::atoll(std::getenv(variable)); }

/// Runs the cases that the environment requests, if any. Each line is written at once, because the process may die in
/// any case.
void run_alone(const Campaign& campaign) {
  if (const char* one = std::getenv("ETUDE_CASE")) {
    const std::string wrong = campaign.run(std::atoll(one));
    INFO(wrong);
    CHECK(wrong.empty());
    return;
  }
  if (!std::getenv(first_name) || !std::getenv(count_name)) return;
  const std::int64_t first = number_in(first_name), last = first + number_in(count_name);
  for (std::int64_t number = first; number < last; ++number) {
    std::printf("case %lld\n", static_cast<long long>(number));
    std::fflush(stdout);
    std::string wrong = campaign.run(number);
    std::ranges::replace(wrong, '\n', ' ');
    if (!wrong.empty()) std::printf("wrong %lld %s\n", static_cast<long long>(number), wrong.c_str());
  }
  std::printf("done %lld\n", static_cast<long long>(last));
}

std::string line_of(std::int64_t number, const std::string& wrong) {
  return "case " + std::to_string(number) + ": " + wrong;
}

}  // namespace

#if defined(__linux__) && !defined(__EMSCRIPTEN__)

namespace {

constexpr std::size_t most_failures = 10;

std::string complaint_path(const std::string& folder) { return folder + "/complaint"; }

/// Runs cases until one crashes or hangs, or all are done. Returns the number of finished cases, the failed one
/// included.
std::int64_t run_block(const Campaign& campaign, std::int64_t first, std::int64_t count,
                       std::vector<std::string>& failures) {
  const ScratchFolder scratch("etude_cases", ScratchFolder::memory);
  ::setenv(first_name, std::to_string(first).c_str(), 1);
  ::setenv(count_name, std::to_string(count).c_str(), 1);
  Child child(campaign.tag, scratch.path());
  ::unsetenv(first_name);
  ::unsetenv(count_name);
  std::int64_t begun = first;
  for (;;) {
    const std::optional<std::int64_t> told = child.next(campaign.seconds);
    if (!told) {
      failures.push_back(line_of(begun, "does not end"));
      return begun - first + 1;
    }
    if (*told < 0) break;
    begun = *told;
  }
  if (begun == first + count) return count;
  std::ifstream file(complaint_path(scratch.path()));
  const std::string complaint{std::istreambuf_iterator<char>(file), {}};
  const int status = child.exit_status();
  const std::string end = status < 0 ? "ended by a signal" : "ended with status " + std::to_string(status);
  failures.push_back(line_of(begun, complaint.empty() ? end : complaint));
  return begun - first + 1;
}

}  // namespace

std::vector<std::string> run_cases(const Campaign& campaign, std::int64_t first, std::int64_t count) {
  std::vector<std::string> failures;
  for (std::int64_t done = 0; done < count && failures.size() < most_failures;)
    done += run_block(campaign, first + done, std::min(campaign.block, count - done), failures);
  return failures;
}

void run_as_child(const Campaign& campaign) {
  const char* folder = Child::folder();
  if (!folder) return run_alone(campaign);
  const std::int64_t first = number_in(first_name), last = first + number_in(count_name);
  for (std::int64_t number = first; number < last; ++number) {
    Child::tell(number);
    const std::string wrong = campaign.run(number);
    if (wrong.empty()) continue;
    std::ofstream(complaint_path(folder)) << wrong;
    std::_Exit(1);
  }
  Child::tell(last);
}

#else

std::vector<std::string> run_cases(const Campaign& campaign, std::int64_t first, std::int64_t count) {
  std::vector<std::string> failures;
  for (std::int64_t number = first; number < first + count; ++number)
    if (const std::string wrong = campaign.run(number); !wrong.empty()) failures.push_back(line_of(number, wrong));
  return failures;
}

void run_as_child(const Campaign& campaign) { run_alone(campaign); }

#endif

}  // namespace etude::testing
