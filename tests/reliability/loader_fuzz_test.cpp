#include <catch2/catch_test_macros.hpp>

#include "checkpoint_samples.hpp"
#include "etude/base/crc32c.hpp"
#include "etude/base/random.hpp"
#include "etude/saving/checkpoint_format.hpp"
#include "safetensors_samples.hpp"

// Good files, changed at random by a fixed seed: each is loaded, or refused by an Error(data); a sanitizer sees the
// rest.
namespace etude {
namespace {

using namespace testing;

/// Changes some bytes, and pieces of text that a parser cares for.
std::string mutated(std::string file, Random& random) {
  const auto place = [&] { return random.below(static_cast<std::uint32_t>(file.size() + 1)); };
  static const std::vector<std::string> words{"{",
                                              "}",
                                              "[",
                                              "]",
                                              ",",
                                              ":",
                                              "\"",
                                              "\\",
                                              "0",
                                              "-1",
                                              "1e9",
                                              "null",
                                              "{\"a\":",
                                              "18446744073709551615",
                                              "9223372036854775808",
                                              "4294967296",
                                              "F16",
                                              "BF16",
                                              "F64",
                                              "BOOL",
                                              "I64",
                                              "__metadata__",
                                              "dtype",
                                              "shape",
                                              "data_offsets",
                                              "\xFF",
                                              "\\u0000",
                                              "\\ud800",
                                              " "};
  for (std::uint32_t i = 0, count = 1 + random.below(4); i < count && !file.empty(); ++i) {
    switch (random.below(7)) {
      case 0: file[place() % file.size()] ^= static_cast<char>(1 << random.below(8)); break;
      case 1: file[place() % file.size()] = static_cast<char>(random.bits()); break;
      case 2: file.insert(place(), words[random.below(static_cast<std::uint32_t>(words.size()))]); break;
      case 3: file.erase(place(), random.below(16)); break;
      case 4: {
        const std::string& word = words[random.below(static_cast<std::uint32_t>(words.size()))];
        file.replace(place(), word.size(), word);
        break;
      }
      case 5: file.insert(place(), file.substr(place(), random.below(40))); break;
      case 6: {
        const std::size_t digit = file.find_first_of("0123456789", place());
        if (digit != file.npos) file[digit] = static_cast<char>('0' + random.below(10));
        break;
      }
    }
  }
  return file;
}

/// The header's length as it has become, so that its text is looked at.
std::string with_its_length(std::string file) {
  const std::size_t end = file.rfind("}}");
  if (file.size() < 8 || end == file.npos) return file;
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(std::uint64_t{end + 2 - 8} >> 8 * i & 0xFF);
  return file;
}

/// How many of the runs were refused; `load` gives the bytes of the tensors that it has loaded.
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
    const std::string changed = random.below(4) ? with_its_length(file) : file;
    std::size_t bytes = 0;
    for (const NamedTensor& named : parse_safetensors(bytes_of(changed), "a").tensors) bytes += named.tensor.bytes();
    REQUIRE(bytes <= 2 * changed.size());  // float32 for half precision
  });
  CHECK(bad > runs / 2);
  CHECK(bad < runs);  // some get as far as the end
}

TEST_CASE("reliability: a manifest changed at random, with a checksum to match, is read or refused", "[reliability]") {
  const int runs = rounds(3000, 1'000'000);
  const auto files = compose_checkpoint(checkpoint_of(5), 1);
  const std::string whole = files.back().head;
  const std::string good = whole.substr(0, whole.rfind(",\n"));
  const int bad = refused(runs, good, [&](const std::string& body, Random&) {
    char sum[32];
    std::snprintf(sum, sizeof sum, ",\n\"crc32c\":\"%08x\"}\n", crc32c(body));
    const Manifest manifest = parse_manifest(body + sum, "m");
    if (manifest.format_version > checkpoint_format_version) return;
    const auto read = [&](const std::string& name, std::uint64_t) -> std::vector<std::byte> {
      for (const ComposedFile& file : files)
        if (file.name == name) {
          std::string text;
          for (const std::string_view piece : file.pieces()) text += piece;
          const auto bytes = bytes_of(text);
          return {bytes.begin(), bytes.end()};
        }
      fail(ErrorKind::data, "test", "no such file");
    };
    parse_checkpoint(manifest, read, "c");
  });
  CHECK(bad > runs / 3);
  CHECK(bad < runs);
}

}  // namespace etude
