#pragma once

#include <string>

#include "etude/base/random.hpp"

namespace etude::testing {

/// A file with some changed bytes, and inserted text that parsers look for.
std::string mutated(std::string file, Random& random);

}  // namespace etude::testing
