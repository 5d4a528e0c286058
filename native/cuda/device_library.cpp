#include <cstdlib>
#include <string_view>

#include "cuda/cuda.hpp"
#include "cuda/gpu_runtime.hpp"
#include "etude/devices/devices.hpp"

// The entry point of libetude_cuda.so.

namespace {

std::vector<etude::cuda::Gpu>& gpus() {
  static std::vector<etude::cuda::Gpu> gpus;
  return gpus;
}

void list(std::vector<std::string>& models, std::string& why) {
  gpus() = etude::cuda::find_gpus(why);
  for (const etude::cuda::Gpu& gpu : gpus()) models.push_back(gpu.model);
}

/// Opens a device, which exists until the program ends.
etude::Device& open(int index, const std::string& name) {
  const char* tf32 = std::getenv("ETUDE_TF32");
  const int ordinal = gpus()[static_cast<std::size_t>(index)].ordinal;
  return *new etude::Cuda(name, etude::cuda::open_gpu(ordinal, tf32 != nullptr && std::string_view(tf32) == "1"));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const etude::DeviceLibrary* etude_device_library() {
  static const etude::DeviceLibrary library{etude::DeviceLibrary::current_abi, ETUDE_VERSION, list, open};
  return &library;
}
