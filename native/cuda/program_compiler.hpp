#pragma once

#include <string>
#include <vector>

namespace etude::cuda {

/// Compiles a program's text to a cubin for GPUs of compute capability `architecture` (90: Hopper), by NVRTC, which is
/// loaded when it is first needed. Throws Error(state) where there is no NVRTC. Needs no GPU.
std::vector<char> compile_program(const std::string& source, int architecture);

}  // namespace etude::cuda
