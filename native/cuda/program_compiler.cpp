#include "cuda/program_compiler.hpp"

#include "cuda/program_texts.hpp"
#include "cuda/shared_library.hpp"

namespace etude::cuda {
namespace {

// Of nvrtc.h, which a machine without the CUDA toolkit does not have.
using Handle = struct _nvrtcProgram*;
using Result = int;
constexpr Result invalid_option = 5;

struct Nvrtc {
  // The system's own choice first: a driver takes what a newer CUDA compiled only in part.
  SharedLibrary library{"NVRTC", {"libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.13"}};
  Result (*create)(Handle*, const char* source, const char* name, int headers, const char* const*, const char* const*);
  Result (*compile)(Handle, int count, const char* const* options);
  Result (*destroy)(Handle*);
  Result (*cubin_size)(Handle, std::size_t*);
  Result (*cubin)(Handle, char*);
  Result (*log_size)(Handle, std::size_t*);
  Result (*log)(Handle, char*);

  Nvrtc() {
    library.find(create, "nvrtcCreateProgram");
    library.find(compile, "nvrtcCompileProgram");
    library.find(destroy, "nvrtcDestroyProgram");
    library.find(cubin_size, "nvrtcGetCUBINSize");
    library.find(cubin, "nvrtcGetCUBIN");
    library.find(log_size, "nvrtcGetProgramLogSize");
    library.find(log, "nvrtcGetProgramLog");
  }
};

const Nvrtc& compiler() {
  static const Nvrtc& nvrtc = *new Nvrtc;  // never destroyed: used until exit
  return nvrtc;
}

}  // namespace

void need_compiler() { compiler(); }

std::vector<char> compile_program(const std::string& source, int architecture) {
  const Nvrtc& nvrtc = compiler();
  const std::string text = device_text + source, target = "--gpu-architecture=sm_" + std::to_string(architecture);
  Handle program = nullptr;
  check(nvrtc.create(&program, text.c_str(), "program.cu", 0, nullptr, nullptr) == 0, ErrorKind::internal, "Cuda",
        "NVRTC takes no program - expected it to - update it.");
  // No contraction: a multiply and an add give the bits that they give on a processor.
  const char* const options[] = {target.c_str(), "--std=c++20", "--fmad=false", "--device-as-default-execution-space"};
  const Result result = nvrtc.compile(program, 4, options);
  std::size_t size = 0;
  if (result == invalid_option) {
    nvrtc.destroy(&program);
    fail(ErrorKind::state, "Cuda", "an NVRTC that does not know GPUs of compute capability ", architecture / 10, '.',
         architecture % 10, " - expected a newer one - update it.");
  }
  if (result != 0) {
    nvrtc.log_size(program, &size);
    std::string log(size, ' ');
    nvrtc.log(program, log.data());
    nvrtc.destroy(&program);
    fail(ErrorKind::internal, "Cuda",
         "a program that NVRTC does not compile - expected it to - this is a defect of the library:\n", log);
  }
  nvrtc.cubin_size(program, &size);
  std::vector<char> cubin(size);
  nvrtc.cubin(program, cubin.data());
  nvrtc.destroy(&program);
  return cubin;
}

}  // namespace etude::cuda
