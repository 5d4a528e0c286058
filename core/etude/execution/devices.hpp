#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "etude/execution/device.hpp"

namespace etude {

/// One of this machine's devices.
struct DeviceInfo {
  std::string name;   ///< "/cpu:0", "/gpu:0"
  std::string model;  ///< "NVIDIA H100 80GB HBM3"
};

/// All of them, the processor first. GPUs are found by a library of their own, which is loaded when it is there; the
/// environment variable ETUDE_DEVICE_LIBRARY may name its file. Source: tf.config.list_physical_devices.
std::vector<DeviceInfo> devices();

/// The device called "/cpu:0", "/gpu:1"; without a number, the first. Throws Error(value) for any other name, and says
/// why there is no GPU where one is asked for. Source: tf.device.
Device& device(std::string_view name);

/// What default_device() gives from here on; it must outlive everything that runs on it.
void set_default_device(Device& device);

/// What a library of devices offers to the program that loads it, by its function etude_device_library.
struct DeviceLibrary {
  /// Goes up when Device, Storage or Instruction change.
  static constexpr int current_abi = 4;
  /// The current_abi that the library was built with.
  int abi;
  const char* version;  ///< of Étude; both must be the program's own
  /// The models of its devices; where there are none, why.
  void (*list)(std::vector<std::string>& models, std::string& why);
  /// One of them, called `name`, for the rest of the program. Throws Error(state) where it cannot be used.
  Device& (*open)(int index, const std::string& name);
};

}  // namespace etude
