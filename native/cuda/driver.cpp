#include "cuda/driver.hpp"

#include "cuda/program_compiler.hpp"
#include "cuda/shared_library.hpp"
#include "etude/base/system_vfs.hpp"

namespace etude::cuda {

namespace {

std::vector<ProgramCache::Cubin> cubins(std::span<const std::string> sources, int architecture) {
  // Never destroyed: other static objects may use it at exit.
  static ProgramCache& cache =
      *new ProgramCache([](const std::string& source, int gpu) { return compile_program(source, gpu); },
                        compiler_version(), system_vfs(), programs_folder());
  return cache.cubins(sources, architecture);
}

}  // namespace

const Driver& driver() {
  static const Driver driver = [] {
    // Never destroyed: other static objects may use it at exit.
    const auto& library = *new SharedLibrary("the NVIDIA driver", {"libcuda.so.1"});
    Driver found{};
    found.compile = cubins;
    library.find(found.load, "cuModuleLoadData");
    library.find(found.unload, "cuModuleUnload");
    library.find(found.find, "cuModuleGetFunction");
    library.find(found.launch, "cuLaunchKernel");
    return found;
  }();
  return driver;
}

}  // namespace etude::cuda
