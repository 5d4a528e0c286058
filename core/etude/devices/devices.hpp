#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etude {

class Device;

/// A device of this machine.
struct DeviceInfo {
  std::string name;   ///< "/cpu:0", "/gpu:0"
  std::string model;  ///< "NVIDIA H100 80GB HBM3"
};

/// All devices of this machine, the processor first. A separate library, loaded if it is installed, finds GPUs; the
/// environment variable ETUDE_DEVICE_LIBRARY may name its file. Source: tf.config.list_physical_devices.
std::vector<DeviceInfo> devices();

/// The device of a name such as "/cpu:0" or "/gpu:1"; without a number, the first. Throws Error(value) for any other
/// name; if there is no GPU, the error says why. Source: tf.device.
Device& device(std::string_view name);

/// The default device: the one named by the environment variable ETUDE_DEVICE, else the first GPU, else the processor.
Device& default_device();
/// Sets the result of default_device(). The device must outlive everything that runs on it.
void set_default_device(Device& device);

/// The interface between a library of devices and the program that loads it, returned by its function
/// etude_device_library.
struct DeviceLibrary {
  /// Increased with every change of Device, Storage or Instruction.
  static constexpr int current_abi = 6;
  /// The current_abi with which the library was built.
  int abi;
  const char* version;  ///< of Étude; both must be the program's own
  /// The models of its devices; if there are none, the reason.
  void (*list)(std::vector<std::string>& models, std::string& why);
  /// Opens one of them under the name `name`, until the program ends. Throws Error(state) if it cannot be used.
  Device& (*open)(int index, const std::string& name);
};

}  // namespace etude
