#pragma once

#include <string>
#include <vector>

namespace etude::cuda {

/// Compiles a program's text to a cubin for GPUs of compute capability `architecture` (90: Hopper), by NVRTC, which is
/// loaded on demand: the newest installed version whose cubins the driver can load. Throws Error(state) if none is
/// installed, or none supports that architecture. Needs no GPU. The compiler's warnings, such as that of spilled
/// registers, are appended to `warnings`.
std::vector<char> compile_program(const std::string& source, int architecture, std::string* warnings = nullptr);

/// The same by the NVRTC in the file `library`, for tests of several versions.
std::vector<char> compile_program_by(const std::string& library, const std::string& source, int architecture,
                                     std::string* warnings = nullptr);

/// A program's PTX for GPUs of compute capability `architecture`, from which its cubin is assembled, for tests of its
/// memory accesses. Throws as compile_program does.
std::string ptx_of(const std::string& source, int architecture);

/// Identifies everything on which a cubin depends, except the text and the architecture. Throws Error(state) if there
/// is
/// no NVRTC.
std::string compiler_version();

}  // namespace etude::cuda
