#pragma once

#include <string>
#include <string_view>

namespace etude {

/// Appends to an error's text what core says in a literal, in the words of the host's language: `steps_per_epoch` and
/// `{.units = 10}` are C++. What stands in quotes is a name, and stays as it is. Null: nothing is changed.
using Spelling = void (*)(std::string& text, std::string_view literal);
/// The spelling in use; null at first.
Spelling& host_spelling();

/// A literal for a text that `check` does not put together.
std::string spelled(std::string_view literal);

}  // namespace etude
