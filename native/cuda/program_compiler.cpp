#include "cuda/program_compiler.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "cuda/program_texts.hpp"
#include "cuda/shared_library.hpp"
#include "cuda/vendor_numbers.hpp"
#include "etude/base/detail/crc32c.hpp"

namespace etude::cuda {
namespace {

using Handle = struct _nvrtcProgram*;
using Result = int;
using vendor::nvrtc::invalid_option;

struct Nvrtc {
  SharedLibrary library;
  Result (*create)(Handle*, const char* source, const char* name, int headers, const char* const*, const char* const*);
  Result (*compile)(Handle, int count, const char* const* options);
  Result (*destroy)(Handle*);
  Result (*cubin_size)(Handle, std::size_t*);
  Result (*cubin)(Handle, char*);
  Result (*ptx_size)(Handle, std::size_t*);
  Result (*ptx)(Handle, char*);
  Result (*log_size)(Handle, std::size_t*);
  Result (*log)(Handle, char*);
  int major = 0, minor = 0;

  explicit Nvrtc(const char* name) : library("NVRTC", {name}) {
    library.find(create, "nvrtcCreateProgram");
    library.find(compile, "nvrtcCompileProgram");
    library.find(destroy, "nvrtcDestroyProgram");
    library.find(cubin_size, "nvrtcGetCUBINSize");
    library.find(cubin, "nvrtcGetCUBIN");
    library.find(ptx_size, "nvrtcGetPTXSize");
    library.find(ptx, "nvrtcGetPTX");
    library.find(log_size, "nvrtcGetProgramLogSize");
    library.find(log, "nvrtcGetProgramLog");
    Result (*version)(int* major, int* minor);
    library.find(version, "nvrtcVersion");
    version(&major, &minor);
  }
};

/// The newest CUDA that the installed driver supports, 13 for CUDA 13; 0 without a driver.
int driver_major() {
  try {
    const SharedLibrary library("the NVIDIA driver", {"libcuda.so.1"});
    int (*version)(int*) = nullptr;
    library.find(version, "cuDriverGetVersion");
    int number = 0;
    return version(&number) == 0 ? number / 1000 : 0;
  } catch (const Error&) {
    return 0;
  }
}

using Compilers = std::vector<std::unique_ptr<const Nvrtc>>;

/// The installed compilers, the newest first. A driver does not load cubins of a newer major version of CUDA.
Compilers installed_compilers() {
  const int newest = driver_major();
  Compilers found;
  std::string missing;
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
    try {
      auto nvrtc = std::make_unique<const Nvrtc>(name);
      if (newest == 0 || nvrtc->major <= newest)
        found.push_back(std::move(nvrtc));
      else
        missing = "[Cuda] NVRTC " + std::to_string(nvrtc->major) + ", but a driver of CUDA " + std::to_string(newest) +
                  " - expected an NVRTC that is not newer - update the driver, or install NVRTC " +
                  std::to_string(newest) + '.';
    } catch (const Error& none) {
      if (missing.empty()) missing = none.what();
    }
  }
  if (found.empty()) throw Error(ErrorKind::state, missing);
  return found;
}

const Compilers& compilers() {
  static const Compilers& found = *new Compilers(installed_compilers());  // never destroyed: used until exit
  return found;
}

// No contraction, and no denormals in float32: CONTRIBUTING.md, "The CUDA device".
constexpr const char* options[] = {"--std=c++20", "--fmad=false", "--ftz=true", "--device-as-default-execution-space"};

enum class Output { cubin, ptx };

struct Compiled {
  Result result;
  std::vector<char> output;
  std::string log;
};

Compiled compile_by(const Nvrtc& nvrtc, const std::string& text, int architecture, Output wanted, bool warns) {
  const bool as_cubin = wanted == Output::cubin;
  const std::string target =
      (as_cubin ? "--gpu-architecture=sm_" : "--gpu-architecture=compute_") + std::to_string(architecture);
  Handle program = nullptr;
  check(nvrtc.create(&program, text.c_str(), "program.cu", 0, nullptr, nullptr) == 0, ErrorKind::internal, "Cuda",
        "NVRTC creates no program - expected success - update it.");
  const std::unique_ptr<Handle, Result (*)(Handle*)> owned(&program, nvrtc.destroy);
  std::vector<const char*> all(std::begin(options), std::end(options));
  all.push_back(target.c_str());
  if (warns) all.push_back("--ptxas-options=--warn-on-spills");
  Compiled compiled{nvrtc.compile(program, static_cast<int>(all.size()), all.data()), {}, {}};
  std::size_t size = 0;
  nvrtc.log_size(program, &size);
  compiled.log.resize(size);
  nvrtc.log(program, compiled.log.data());
  if (compiled.result != 0) return compiled;
  (as_cubin ? nvrtc.cubin_size : nvrtc.ptx_size)(program, &size);
  compiled.output.resize(size);
  (as_cubin ? nvrtc.cubin : nvrtc.ptx)(program, compiled.output.data());
  return compiled;
}

using CompilersView = std::span<const std::unique_ptr<const Nvrtc>>;

/// Compiles with the first compiler that supports the architecture.
std::vector<char> compile(CompilersView compilers, const std::string& source, int architecture, Output wanted,
                          std::string* warnings) {
  const std::string text = device_text + source;
  for (const auto& nvrtc : compilers) {
    Compiled compiled = compile_by(*nvrtc, text, architecture, wanted, warnings != nullptr);
    if (compiled.result == 0) {
      if (warnings) *warnings += compiled.log.c_str();
      return std::move(compiled.output);
    }
    check(compiled.result == invalid_option, ErrorKind::internal, "Cuda",
          "a program that NVRTC does not compile - expected valid source - this is a defect of the library:\n",
          compiled.log);
  }
  fail(ErrorKind::state, "Cuda", "an NVRTC without support for GPUs of compute capability ", architecture / 10, '.',
       architecture % 10, " - expected a newer one - update it.");
}

/// The compiler in this file, which is never unloaded.
CompilersView compiler_in(const std::string& library) {
  static std::mutex mutex;
  static auto& loaded = *new std::map<std::string, std::unique_ptr<const Nvrtc>>;  // never destroyed: used until exit
  const std::lock_guard lock(mutex);
  std::unique_ptr<const Nvrtc>& nvrtc = loaded[library];
  if (!nvrtc) nvrtc = std::make_unique<const Nvrtc>(library.c_str());
  return {&nvrtc, 1};
}

}  // namespace

std::string compiler_version() {
  std::string version;
  for (const auto& nvrtc : compilers())
    version += "NVRTC " + std::to_string(nvrtc->major) + '.' + std::to_string(nvrtc->minor) + ", ";
  for (const char* option : options) version += option + std::string(" ");
  return version + std::to_string(crc32c(device_text));
}

std::vector<char> compile_program(const std::string& source, int architecture, std::string* warnings) {
  return compile(compilers(), source, architecture, Output::cubin, warnings);
}

std::vector<char> compile_program_by(const std::string& library, const std::string& source, int architecture,
                                     std::string* warnings) {
  return compile(compiler_in(library), source, architecture, Output::cubin, warnings);
}

std::string ptx_of(const std::string& source, int architecture) {
  return compile(compilers(), source, architecture, Output::ptx, nullptr).data();
}

}  // namespace etude::cuda
