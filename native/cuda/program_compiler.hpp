#pragma once

#include <string>
#include <vector>

namespace etude::cuda {

/// Compiles a program's text to a cubin for GPUs of compute capability `architecture` (90: Hopper), by NVRTC, which is
/// loaded when it is first needed: the newest installed one that the driver can load cubins of. Throws Error(state)
/// where none is installed, or none knows that architecture. Needs no GPU. With `warnings`: what the compiler warns of,
/// registers that do not suffice among it, is added there.
std::vector<char> compile_program(const std::string& source, int architecture, std::string* warnings = nullptr);

/// The same by the NVRTC in the file `library`, for tests of several versions.
std::vector<char> compile_program_by(const std::string& library, const std::string& source, int architecture,
                                     std::string* warnings = nullptr);

/// A program's PTX for GPUs of compute capability `architecture`: what its cubin is assembled from, for tests of how it
/// accesses memory. Throws as compile_program does.
std::string ptx_of(const std::string& source, int architecture);

/// Everything but the text and the architecture that a cubin depends on. Throws Error(state) where there is no NVRTC.
std::string compiler_version();

}  // namespace etude::cuda
