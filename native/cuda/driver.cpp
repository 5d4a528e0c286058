#include "cuda/driver.hpp"

#include "cuda/program_compiler.hpp"
#include "cuda/shared_library.hpp"

namespace etude::cuda {

const Driver& driver() {
  static const Driver driver = [] {
    // Never destroyed: other static objects may use it at exit.
    const auto& library = *new SharedLibrary("the NVIDIA driver", {"libcuda.so.1"});
    Driver found{};
    found.compile = compile_program;
    library.find(found.load, "cuModuleLoadData");
    library.find(found.unload, "cuModuleUnload");
    library.find(found.find, "cuModuleGetFunction");
    library.find(found.launch, "cuLaunchKernel");
    return found;
  }();
  return driver;
}

}  // namespace etude::cuda
