#pragma once

/// Files that are part of every program's text; device_text only on a GPU. CMake generates their definitions.
namespace etude::cuda {

extern const char* const device_text;       ///< cuda/program_device.cuh
extern const char* const prelude_text;      ///< cuda/program_prelude.cuh
extern const char* const half_text;         ///< core/etude/base/half.hpp without its includes
extern const char* const elementwise_text;  ///< core/etude/graph/detail/elementwise.hpp without its includes

}  // namespace etude::cuda
