#include "etude/base/messages.hpp"

#include <cstdio>

namespace etude {
namespace {

void print_line(std::FILE* file, const char* before, const std::string& text) {
  std::fprintf(file, "%s%s\n", before, text.c_str());
  std::fflush(file);
}

}  // namespace

void print_message(const TextSink& sink, const std::string& text) { sink ? sink(text) : print_line(stdout, "", text); }
void print_warning(const TextSink& sink, const std::string& text) {
  sink ? sink(text) : print_line(stderr, "Warning: ", text);
}

}  // namespace etude
