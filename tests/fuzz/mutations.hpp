#pragma once

#include <string>

#include "etude/base/random.hpp"

namespace etude::testing {

/// A file with some bytes changed, and pieces of text that a parser looks for put in.
std::string mutated(std::string file, Random& random);

}  // namespace etude::testing
