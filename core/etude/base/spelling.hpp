#pragma once

#include <string>
#include <string_view>

namespace etude {

/// Appends a literal of core to an error's text, in the spelling of the host's language: `steps_per_epoch` and `{.units
/// = 10}` are C++. Quoted text is a name, and is not changed. Null: nothing is changed.
using Spelling = void (*)(std::string& text, std::string_view literal);
Spelling& host_spelling();

/// A literal in the host's spelling, for a text that `check` does not build.
std::string spelled(std::string_view literal);

}  // namespace etude
