#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "fuzz/mutations.hpp"
#include "fuzz/targets.hpp"

// libFuzzer's program for the target in ETUDE_FUZZ_TARGET.
namespace {

const etude::testing::FuzzTarget& chosen() {
  static const etude::testing::FuzzTarget& target = [&]() -> const etude::testing::FuzzTarget& {
    const char* name = std::getenv("ETUDE_FUZZ_TARGET");
    try {
      return etude::testing::fuzz_target(name ? name : "");
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s - set ETUDE_FUZZ_TARGET to one of:", error.what());
      for (const auto& each : etude::testing::fuzz_targets()) std::fprintf(stderr, " %s", each.name);
      std::fprintf(stderr, "\n");
      std::exit(2);
    }
  }();
  return target;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  etude::testing::is_refused_by(chosen(), {reinterpret_cast<const char*>(data), size});
  return 0;
}

/// Half of the mutations are libFuzzer's, half insert words of the formats; most inputs then get correct checksums.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  etude::Random random(seed, etude::RandomStream::step);
  if (random.below(2)) size = LLVMFuzzerMutate(data, size, most);
  std::string input(reinterpret_cast<const char*>(data), size);
  if (random.below(2)) input = etude::testing::mutated(input, random);
  if (chosen().repaired && random.below(4)) input = chosen().repaired(input);
  if (input.size() > most) input.resize(most);
  std::memcpy(data, input.data(), input.size());
  return input.size();
}
