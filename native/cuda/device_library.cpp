#include "cuda/cuda.hpp"
#include "cuda/gpu_runtime.hpp"
#include "etude/execution/devices.hpp"

// The door of libetude_cuda.so.

extern "C" __attribute__((visibility("default"))) const etude::DeviceLibrary* etude_device_library() {
  static const etude::DeviceLibrary library{
      ETUDE_VERSION, [](std::vector<std::string>& models, std::string& why) { models = etude::cuda::gpu_models(why); },
      [](int index, const std::string& name) -> etude::Device& {
        return *new etude::Cuda(name, etude::cuda::open_gpu(index));  // there to the end of the program
      }};
  return &library;
}
