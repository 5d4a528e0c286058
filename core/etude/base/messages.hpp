#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace etude {

/// Receives messages, line by line.
using TextSink = std::function<void(std::string_view)>;

/// Prints a line to `sink`, or to stdout.
void print_message(const TextSink& sink, const std::string& text);
/// Prints a warning to `sink`, or to stderr.
void print_warning(const TextSink& sink, const std::string& text);

}  // namespace etude
