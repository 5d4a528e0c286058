#include "cuda/driver.hpp"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

#include "cuda/program_compiler.hpp"
#include "cuda/shared_library.hpp"
#include "etude/base/detail/system_vfs.hpp"
#include "etude/base/error.hpp"
#include "etude/base/messages.hpp"

namespace etude::cuda {
namespace {

/// Whether a variable of the environment is 0.
bool is_off(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "0";
}

std::vector<ProgramCache::Cubin> cubins(std::span<const std::string> sources, int architecture) {
  // Never destroyed: other static objects may use it at exit.
  static ProgramCache& cache =
      *new ProgramCache([](const std::string& source, int gpu) { return compile_program(source, gpu); },
                        compiler_version(), system_vfs(), cache_folder("programs"));
  return cache.cubins(sources, architecture);
}

const CublasLt::Functions* products() {
  static const CublasLt::Functions* const functions = []() -> const CublasLt::Functions* {
    if (is_off("ETUDE_CUBLASLT")) return nullptr;
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

const Cudnn::Functions* convolutions() {
  static const Cudnn::Functions* const functions = []() -> const Cudnn::Functions* {
    if (is_off("ETUDE_CUDNN")) return nullptr;
    try {
      const auto* library = new SharedLibrary("cuDNN", {"libcudnn.so.9"});
      return new Cudnn::Functions(Cudnn::Functions::of(*library));
    } catch (const Error&) {
      return nullptr;  // it is only faster for some convolutions
    }
  }();
  return functions;
}

/// Everything on which measured times depend.
std::string measured_with(const std::string& model) {
  int cuda = 0;
  driver().version(&cuda);
  return "Étude " ETUDE_VERSION "\n" + model + "\nCUDA " + std::to_string(cuda) + "\ncuBLASLt " +
         std::to_string(products() ? products()->version() : 0) + "\ncuDNN " +
         std::to_string(convolutions() ? convolutions()->version() : 0);
}

std::shared_ptr<Choices> choices(const std::string& model) {
  static std::mutex mutex;
  // Never destroyed: other static objects may use it at exit.
  static auto& all = *new std::map<std::string, std::shared_ptr<Choices>>;
  const std::string folder = is_off("ETUDE_MEASURE") ? "" : cache_folder("choices");
  if (folder.empty()) return nullptr;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Choices>& known = all[model];
  if (!known) known = std::make_shared<Choices>(measured_with(model), system_vfs(), folder);
  return known;
}

}  // namespace

const Driver& driver() {
  static const Driver driver = [] {
    // Never destroyed: other static objects may use it at exit.
    const auto& library = *new SharedLibrary("the NVIDIA driver", {"libcuda.so.1"});
    Driver found{};
    found.compile = cubins;
    found.products = products;
    found.convolutions = convolutions;
    found.choices = choices;
    library.find(found.version, "cuDriverGetVersion");
    library.find(found.load, "cuModuleLoadData");
    library.find(found.unload, "cuModuleUnload");
    library.find(found.find, "cuModuleGetFunction");
    library.find(found.launch, "cuLaunchKernel");
    return found;
  }();
  return driver;
}

}  // namespace etude::cuda
