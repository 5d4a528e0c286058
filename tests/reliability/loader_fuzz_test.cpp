#include <catch2/catch_test_macros.hpp>

#include "checkpoint_samples.hpp"
#include "etude/base/random.hpp"
#include "etude/saving/detail/checkpoint_format.hpp"
#include "fuzz/containers.hpp"
#include "fuzz/mutations.hpp"
#include "safetensors_samples.hpp"

// Valid files with random changes by a fixed seed: each is loaded, or rejected by an Error(data); a sanitizer detects
// other faults.
namespace etude {
namespace {

using namespace testing;

/// The number of rejected runs; `load` returns the bytes of the tensors that it has loaded.
template <class Load> int refused(int runs, const std::string& good, Load&& load) {
  Random random(11, RandomStream::step);
  int count = 0;
  for (int i = 0; i < runs; ++i) {
    const std::string file = mutated(good, random);
    try {
      load(file, random);
    } catch (const Error& error) {
      ++count;
      if (error.kind() != ErrorKind::data) FAIL(error.what());
    }
  }
  return count;
}

}  // namespace

TEST_CASE(
    "reliability: a safetensors file changed at random is loaded or refused, and takes no more memory than it has",
    "[reliability]") {
  const int runs = rounds(6000, 2'000'000);
  const std::string good = safetensors_file(tensors_of_all_kinds(), {{"key", "value"}});
  const int bad = refused(runs, good, [](const std::string& file, Random& random) {
    const std::string changed = random.below(4) ? repaired_safetensors(file) : file;
    std::size_t bytes = 0;
    for (const NamedTensor& named : parse_safetensors(bytes_of(changed), "a").tensors) bytes += named.tensor.bytes();
    REQUIRE(bytes <= 2 * changed.size());  // float32 for half precision
  });
  CHECK(bad > runs / 2);
  CHECK(bad < runs);  // some are loaded completely
}

TEST_CASE("reliability: a manifest changed at random, with a checksum to match, is read or refused", "[reliability]") {
  const int runs = rounds(3000, 1'000'000);
  const auto files = compose_checkpoint(checkpoint_of(5), 1);
  const std::string whole = files.back().head;
  const std::string good = whole.substr(0, whole.rfind(",\n"));
  const int bad = refused(runs, good, [&](const std::string& body, Random&) {
    const Manifest manifest = parse_manifest(repaired_manifest(body), "m");
    if (manifest.format_version > checkpoint_format_version) return;
    const auto open = [&](const std::string& name) {
      for (const ComposedFile& file : files)
        if (file.name == name) {
          std::string text;
          file.visit_pieces([&](std::string_view piece) { text += piece; });
          const auto bytes = bytes_of(text);
          return std::make_shared<MemorySource>(std::vector<std::byte>(bytes.begin(), bytes.end()));
        }
      fail(ErrorKind::data, "test", "no such file");
    };
    parse_checkpoint(manifest, open, "c");
  });
  CHECK(bad > runs / 3);
  CHECK(bad < runs);
}

}  // namespace etude
