#pragma once

#include <string>

#include "etude/base/error.hpp"

namespace etude::testing {

/// The text of the Error that `function` throws, or "no error".
template <class Function> std::string error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace etude::testing
