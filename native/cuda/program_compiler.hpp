#pragma once

#include <string>
#include <vector>

namespace etude::cuda {

/// Compiles a program's text to a cubin for GPUs of compute capability `architecture` (90: Hopper), by NVRTC, which is
/// loaded when it is first needed: the newest installed one that the driver can load cubins of. Throws Error(state)
/// where none is installed, or none knows that architecture. Needs no GPU. With `warnings`: what the compiler warns of,
/// registers that do not suffice among it, is added there. With `ptx`: there is the assembly text that the cubin was
/// made of.
std::vector<char> compile_program(const std::string& source, int architecture, std::string* warnings = nullptr,
                                  std::string* ptx = nullptr);

/// Everything but the text and the architecture that a cubin depends on. Throws Error(state) where there is no NVRTC.
std::string compiler_version();

}  // namespace etude::cuda
