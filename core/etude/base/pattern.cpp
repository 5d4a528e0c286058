#include "etude/base/pattern.hpp"

#ifdef ETUDE_REGEX
#include <regex>
#include <stdexcept>
#endif

namespace etude {

PatternSearch& host_search() {
#ifdef ETUDE_REGEX
  static PatternSearch search = +[](const std::string& pattern, const std::string& text) {
    try {
      return std::regex_search(text, std::regex(pattern));
    } catch (const std::regex_error& error) {
      throw std::invalid_argument(error.what());
    }
  };
#else
  static PatternSearch search = nullptr;
#endif
  return search;
}

}  // namespace etude
