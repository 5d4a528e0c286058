#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "checkpoint_samples.hpp"
#include "fuzz/mutations.hpp"
#include "fuzz/targets.hpp"
#include "golden_path.hpp"
#include "safetensors_samples.hpp"

// The targets of the fuzzers on their corpora, and on inputs changed at random by a fixed seed. Under libFuzzer:
// ./dev test fuzz
namespace etude {
namespace {

using namespace testing;

std::filesystem::path corpus_of(const FuzzTarget& target) {
  return std::filesystem::path(golden_path("../fuzz/corpus")) / target.name;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The fault of a target for some bytes; empty if there is none.
std::string fault_of(const FuzzTarget& target, std::string_view bytes, int* refused = nullptr) {
  try {
    const bool is_refused = is_refused_by(target, bytes);
    if (refused) *refused += is_refused;
    return "";
  } catch (const std::exception& error) {
    return std::string(target.name) + ": " + error.what();
  }
}

}  // namespace

TEST_CASE("writes the files of the fuzzers' corpora", "[.][fuzz_corpus]") {
  for (const FuzzTarget& target : fuzz_targets()) {
    std::filesystem::create_directories(corpus_of(target));
    int number = 0;
    for (const std::string& input : target.samples())
      std::ofstream(corpus_of(target) / ("sample-" + std::to_string(number++)), std::ios::binary) << input;
  }
}

TEST_CASE("measures the readers' highest cost per byte of their samples, changed and unchanged", "[.][fuzz_costs]") {
  for (const FuzzTarget& target : fuzz_targets()) {
    Random random(11, RandomStream::step);
    const std::vector<std::string> inputs = target.samples();
    double bytes = 0, seconds = 0;
    for (int i = 0; i < rounds(20'000, 1'000'000); ++i) {
      std::string input = inputs[random.below(static_cast<std::uint32_t>(inputs.size()))];
      if (i > 0) input = mutated(input, random);
      if (target.repaired && random.below(4)) input = target.repaired(input);
      const FuzzOutcome outcome = outcome_of(target, input);
      if (i == 0) continue;  // objects that exist once
      const double size = std::max(1.0, static_cast<double>(input.size()));
      bytes = std::max(bytes, (static_cast<double>(outcome.bytes) - static_cast<double>(target.fixed_bytes)) / size);
      seconds = std::max(seconds, outcome.seconds);
    }
    WARN(target.name << ": " << bytes << " bytes per byte beyond the free ones; " << seconds << " s");
  }
}

TEST_CASE("a reader that exceeds its bound of memory or CPU time is detected", "[fuzz]") {
  const auto greedy = [](std::string_view bytes) {
    static std::string kept;
    kept = std::string(2 * free_bytes + bytes.size(), ' ');
  };
  const auto none = [] { return std::vector<std::string>{}; };
  CHECK_FALSE(is_refused_by({"greedy", greedy, none, nullptr, free_bytes, 0}, "abc"));
  CHECK_THROWS_WITH(is_refused_by({"greedy", greedy, none, nullptr, 100, 0}, "abc"),
                    Catch::Matchers::ContainsSubstring("bytes of memory for 3 bytes of input"));
#ifndef __EMSCRIPTEN__
  const auto slow = [](std::string_view) {
    constexpr auto ticks = static_cast<std::clock_t>(2 * free_seconds * CLOCKS_PER_SEC);
    for (const std::clock_t began = std::clock(); std::clock() - began < ticks;) continue;
  };
  CHECK_FALSE(is_refused_by({"slow", slow, none, nullptr, 0, 1e9}, "abc"));
  CHECK_THROWS_WITH(is_refused_by({"slow", slow, none, nullptr, 0, 1000}, "abc"),
                    Catch::Matchers::ContainsSubstring("seconds for 3 bytes of input"));
#endif
}

TEST_CASE("reliability: every reader accepts the output of our writers", "[reliability][fuzz]") {
  for (const FuzzTarget& target : fuzz_targets()) {
    CAPTURE(target.name);
#ifndef ETUDE_ZLIB
    if (std::string_view(target.name) == "gzip") continue;
#endif
    for (const std::string& input : target.samples()) CHECK_FALSE(is_refused_by(target, input));
  }
}

TEST_CASE("reliability: every reader accepts or refuses each file of its corpus, within its bound of memory and time",
          "[reliability][fuzz]") {
  for (const FuzzTarget& target : fuzz_targets()) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(corpus_of(target))) {
      CAPTURE(entry.path().filename().string());
      CHECK(fault_of(target, content_of(entry.path())).empty());
      ++files;
    }
    CAPTURE(target.name);
    CHECK(files > 0);
  }
}

TEST_CASE("reliability: every reader accepts or refuses inputs changed at random, within its bound of memory and time",
          "[reliability][fuzz]") {
  for (const FuzzTarget& target : fuzz_targets()) {
    CAPTURE(target.name);
    Random random(11, RandomStream::step);
    const std::vector<std::string> inputs = target.samples();
    const int runs = rounds(500, 100'000);
    int refused = 0;
    for (int i = 0; i < runs; ++i) {
      std::string input = mutated(inputs[random.below(static_cast<std::uint32_t>(inputs.size()))], random);
      if (target.repaired && random.below(4)) input = target.repaired(input);
      const std::string fault = fault_of(target, input, &refused);
      if (fault.empty()) continue;
      CAPTURE(i, input);
      FAIL(fault);
    }
    CHECK(refused > 0);
    CHECK(refused < runs);
  }
}

}  // namespace etude
