#include "etude/base/messages.hpp"

#include "etude/base/host.hpp"

namespace etude {

void print_text(const TextSink& sink, std::string_view text) {
  sink ? sink(text) : host().write(Console::output, text);
}

void print_message(const TextSink& sink, const std::string& text) {
  sink ? sink(text) : host().write(Console::output, text + '\n');
}

void print_warning(const TextSink& sink, const std::string& text) {
  sink ? sink(text) : host().write(Console::warnings, "Warning: " + text + '\n');
}

}  // namespace etude
