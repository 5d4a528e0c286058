#pragma once

#include <optional>
#include <string_view>

#include "etude/base/error.hpp"

namespace etude {

/// An option that is true, false or "auto".
class AutoChoice {
 public:
  /// true or false.
  AutoChoice(bool given) : given_(given) {}
  /// The boolean that was passed; empty for "auto".
  std::optional<bool> given() const { return given_; }

 protected:
  /// Throws Error(value) for any other string than "auto"; `where` and `option` are for its text.
  AutoChoice(const char* name, const char* where, const char* option) {
    check(std::string_view(name) == "auto", ErrorKind::value, where, option, " = \"", name,
          "\" - expected true, false or \"auto\" - choose one.");
  }

 private:
  std::optional<bool> given_;
};

}  // namespace etude
