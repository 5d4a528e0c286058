#include "cuda/driver.hpp"

#include <cstdlib>
#include <string_view>

#include "cuda/program_compiler.hpp"
#include "cuda/shared_library.hpp"
#include "etude/base/error.hpp"
#include "etude/base/messages.hpp"
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

/// cuBLASLt's functions; null if it is not installed, or switched off.
const CublasLt::Functions* products() {
  static const CublasLt::Functions* const functions = []() -> const CublasLt::Functions* {
    const char* wanted = std::getenv("ETUDE_CUBLASLT");
    if (wanted != nullptr && std::string_view(wanted) == "0") return nullptr;
    try {
      const auto* library = new SharedLibrary("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"});
      return new CublasLt::Functions(CublasLt::Functions::of(*library));
    } catch (const Error& missing) {
      print_warning({}, std::string(missing.what()) +
                            " Until then products are computed by Étude's own kernels, "
                            "which are slower; ETUDE_CUBLASLT=0 chooses them.");
      return nullptr;
    }
  }();
  return functions;
}

}  // namespace

const Driver& driver() {
  static const Driver driver = [] {
    // Never destroyed: other static objects may use it at exit.
    const auto& library = *new SharedLibrary("the NVIDIA driver", {"libcuda.so.1"});
    Driver found{};
    found.compile = cubins;
    found.products = products;
    library.find(found.load, "cuModuleLoadData");
    library.find(found.unload, "cuModuleUnload");
    library.find(found.find, "cuModuleGetFunction");
    library.find(found.launch, "cuLaunchKernel");
    return found;
  }();
  return driver;
}

}  // namespace etude::cuda
