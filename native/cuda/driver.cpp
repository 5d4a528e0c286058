#include "cuda/driver.hpp"

#include "cuda/program_compiler.hpp"
#include "cuda/shared_library.hpp"

namespace etude::cuda {

const Driver& driver() {
  static const Driver driver = [] {
    // Whatever else goes first at a program's end.
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
