#pragma once

#include <string>
#include <vector>

namespace etude::cuda {

/// Compiles a program's text to a cubin for GPUs of compute capability `architecture` (90: Hopper), by NVRTC, which is
/// loaded when it is first needed. Throws Error(state) where there is no NVRTC, or one that is older than that. Needs
/// no GPU.
std::vector<char> compile_program(const std::string& source, int architecture);

/// Throws Error(state) where there is no NVRTC.
void need_compiler();

}  // namespace etude::cuda
