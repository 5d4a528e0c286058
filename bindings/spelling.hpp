#pragma once

/// Errors are spelled in JavaScript: `{.units = 10}` becomes `{ units: 10 }`, `layers::dense` becomes
/// `et.layers.dense`, and `steps_per_epoch` becomes `stepsPerEpoch`. Independent of Emscripten, so that
/// tests/spelling_test.cpp can apply it to all literals.
#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace etude::js {

/// "steps_per_epoch" -> "stepsPerEpoch", "beta_1" -> "beta1": the one rule for names.
inline std::string camel_case(std::string_view name) {
  std::string result;
  bool capital = false;
  for (const char c : name) {
    if (c == '_')
      capital = true;
    else
      result += static_cast<char>(std::exchange(capital, false) ? std::toupper(c) : c);
  }
  return result;
}

inline bool in_name(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/// Removes the name at the beginning of `rest`, and returns it in JavaScript's spelling.
inline std::string spelled_name(std::string_view& rest) {
  const auto end = std::ranges::find_if_not(rest, in_name);
  const std::string_view word(rest.begin(), end);
  const std::string name = word.ends_with('_') ? std::string(word) : camel_case(word);
  rest.remove_prefix(static_cast<std::size_t>(end - rest.begin()));
  return rest.starts_with("::") ? "et." + name : name;
}

/// Advice in core's errors, and its replacement in JavaScript.
struct Advice {
  std::string_view native, javascript;
};
inline constexpr Advice advices[]{
    {"a host with files, or the option files - pass a Vfs, such as MemoryVfs.",
     "files that openFiles opened - call openFiles first."},
    {"a host with files", "files that openFiles opened"},
    {"remove the scheme before the path.", "remove the scheme before the path; a page keeps files after openFiles()."},
    {"declare `about` and Options and call register_class first, or save only the model's weights.",
     "save the model's weights instead, and create the model in code."},
    {" - make layers by from_json<Layer>().", " - pass the text that model.toJson() gave."},
};

/// Appends a literal of core to a text, in JavaScript's spelling. Quoted text is not changed.
inline void spell(std::string& text, std::string_view rest) {
  for (const Advice& advice : advices)
    if (rest == advice.native) return void(text += advice.javascript);
  struct Rule {
    std::string_view from, to;
  };
  constexpr Rule anywhere[]{{"::", "."}, {"{.", "{ "}}, in_options[]{{" = ", ": "}, {", .", ", "}, {"}", " }"}};
  bool quoted = std::ranges::count(text, '"') % 2 != 0, options = false;
  while (!rest.empty()) {
    const auto applied = [&](std::span<const Rule> rules) {
      return std::ranges::any_of(rules, [&](const Rule& rule) {
        if (!rest.starts_with(rule.from)) return false;
        options = rule.from != "}" && (options || rule.from == "{.");
        text += rule.to;
        rest.remove_prefix(rule.from.size());
        return true;
      });
    };
    quoted ^= rest.front() == '"';
    if (!quoted && (applied(anywhere) || (options && applied(in_options)))) continue;
    const bool begins = text.empty() || !std::isalnum(static_cast<unsigned char>(text.back()));
    if (!quoted && begins && rest.front() >= 'a' && rest.front() <= 'z') {
      text += spelled_name(rest);
    } else {
      text += rest.front();
      rest.remove_prefix(1);
    }
  }
}

}  // namespace etude::js
