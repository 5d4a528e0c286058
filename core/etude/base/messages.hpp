#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace etude {

/// Receives messages, line by line.
using TextSink = std::function<void(std::string_view)>;

/// Prints text to `sink`, or to the host's console, without a newline.
void print_text(const TextSink& sink, std::string_view text);
/// Prints a line to `sink`, or to the host's console.
void print_message(const TextSink& sink, const std::string& text);
/// Prints a warning to `sink`, or to the host's console of warnings.
void print_warning(const TextSink& sink, const std::string& text);

}  // namespace etude
