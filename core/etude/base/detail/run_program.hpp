#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etude {

/// The end of a program.
struct ProgramEnd {
  /// Whether it was started. False also in builds for systems that start no programs.
  bool found = false;
  /// Its exit status; 128 + n if signal n ended it.
  int status = 0;
  /// Its output, on stdout and stderr.
  std::string output;
};

/// Starts the program of that name, found along PATH, with these arguments and `input` as its stdin, and waits for its
/// end. There is no shell, so that no text is a command. Throws Error(io) if the system refuses.
ProgramEnd run_program(const std::string& name, const std::vector<std::string>& arguments, std::string_view input);

}  // namespace etude
