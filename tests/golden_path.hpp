#pragma once

#include <string>

namespace etude::testing {

/// The path of a file or folder of tests/golden.
std::string golden_path(const std::string& name);

}  // namespace etude::testing
