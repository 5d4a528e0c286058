#include "fuzz/mutations.hpp"

#include <cstdint>
#include <vector>

namespace etude::testing {
namespace {

const std::vector<std::string> words{"{",
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
                                     "true",
                                     "{\"a\":",
                                     "18446744073709551615",
                                     "9223372036854775808",
                                     "4611686018427387904",
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
                                     " ",
                                     "\n",
                                     "\r",
                                     "\r\n",
                                     "\xEF\xBB\xBF",
                                     "'<f8'",
                                     "'|b1'",
                                     "(",
                                     ")",
                                     "True",
                                     "False",
                                     "\"Dense\"",
                                     "\"Sequential\"",
                                     "\"units\":",
                                     "\"trainable\":",
                                     "\"config\":",
                                     "\"class_name\":"};

}  // namespace

std::string mutated(std::string file, Random& random) {
  const auto below = [&](std::size_t bound) { return random.below(static_cast<std::uint32_t>(bound)); };
  const auto place = [&] { return below(file.size() + 1); };
  for (std::uint32_t i = 0, count = 1 + below(4); i < count && !file.empty(); ++i) {
    switch (below(7)) {
      case 0: file[place() % file.size()] ^= static_cast<char>(1 << below(8)); break;
      case 1: file[place() % file.size()] = static_cast<char>(random.bits()); break;
      case 2: file.insert(place(), words[below(words.size())]); break;
      case 3: file.erase(place(), below(16)); break;
      case 4: {
        const std::string& word = words[below(words.size())];
        file.replace(place(), word.size(), word);
        break;
      }
      case 5: file.insert(place(), file.substr(place(), below(40))); break;
      case 6: {
        const std::size_t digit = file.find_first_of("0123456789", place());
        if (digit != file.npos) file[digit] = static_cast<char>('0' + below(10));
        break;
      }
    }
  }
  return file;
}

}  // namespace etude::testing
