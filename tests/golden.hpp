#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace etude::testing {

/// A file of tests/golden, as its README.md describes it.
nlohmann::json golden(const std::string& name);

}  // namespace etude::testing
