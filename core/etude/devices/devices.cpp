#include "etude/devices/devices.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>

#include "etude/base/error.hpp"
#include "etude/kernels/cpu/cpu_device.hpp"

#ifdef ETUDE_DEVICE_LIBRARY
#include <dlfcn.h>
#endif

namespace etude {
namespace {

/// The GPUs of this machine, by the library of devices.
class Gpus {
 public:
  Gpus() { load(); }

  const std::vector<std::string>& models() const { return models_; }
  const std::string& why_none() const { return why_none_; }

  /// Whether there is a GPU and the first can be opened. If not, later calls find no GPU either.
  bool usable() {
    if (models_.empty()) return false;
    try {
      open(0);
      return true;
    } catch (const Error& error) {
      models_.clear();
      why_none_ = error.what();
      return false;
    }
  }

  Device& open(int index) {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(index);
    if (found != open_.end()) return *found->second;
    Device& opened = library_->open(index, "/gpu:" + std::to_string(index));
    open_.emplace(index, &opened);
    return opened;
  }

 private:
#ifdef ETUDE_DEVICE_LIBRARY
  void load() {
    const char* chosen = std::getenv("ETUDE_DEVICE_LIBRARY");
    const std::string file = chosen && *chosen ? chosen : ETUDE_DEVICE_LIBRARY;
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays open until the program ends
    if (!handle) return void(why_none_ = file + " cannot be loaded: " + dlerror());
    const auto entry = reinterpret_cast<const DeviceLibrary* (*)()>(dlsym(handle, "etude_device_library"));
    if (!entry) return void(why_none_ = file + " is not a library of devices");
    library_ = entry();
    if (library_->abi != DeviceLibrary::current_abi || library_->version != std::string_view(ETUDE_VERSION))
      return void(why_none_ = file + " was built with another version of Étude than this program");
    library_->list(models_, why_none_);
  }
#else
  void load() { why_none_ = "this build computes on the processor only"; }
#endif

  const DeviceLibrary* library_ = nullptr;
  std::vector<std::string> models_;
  std::string why_none_;
  std::mutex mutex_;
  std::map<int, Device*> open_;
};

Gpus& gpus() {
  static Gpus gpus;
  return gpus;
}

/// "/device:GPU:1" and "gpu:1" mean "/gpu:1".
std::string plain_name(std::string_view name) {
  std::string plain(name);
  std::ranges::transform(plain, plain.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (plain.starts_with('/')) plain.erase(0, 1);
  if (plain.starts_with("device:")) plain.erase(0, 7);
  return plain;
}

/// The number after "cpu" or "gpu"; 0 if there is none, and -1 if it is invalid.
int number_of(std::string_view name) {
  if (name.size() == 3) return 0;
  int number = -1;
  const auto [end, error] = std::from_chars(name.data() + 4, name.data() + name.size(), number);
  return name[3] == ':' && error == std::errc() && end == name.data() + name.size() ? number : -1;
}

std::atomic<Device*> chosen_device = nullptr;

Device& first_choice() {
  if (const char* name = std::getenv("ETUDE_DEVICE"); name && *name) return device(name);
  return gpus().usable() ? gpus().open(0) : cpu_device();
}

}  // namespace

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all{{"/cpu:0", std::string(cpu_device().name())}};
  for (const std::string& model : gpus().models()) all.push_back({"/gpu:" + std::to_string(all.size() - 1), model});
  return all;
}

Device& device(std::string_view name) {
  const std::string plain = plain_name(name);
  const bool cpu = plain.starts_with("cpu"), gpu = plain.starts_with("gpu");
  const int number = cpu || gpu ? number_of(plain) : -1;
  if (cpu && number == 0) return cpu_device();
  if (gpu && number >= 0 && number < static_cast<int>(gpus().models().size())) return gpus().open(number);
  std::string known;
  for (const DeviceInfo& one : devices()) known += (known.empty() ? "" : ", ") + one.name;
  const std::string reason = gpu && !gpus().why_none().empty() ? "; " + gpus().why_none() : "";
  fail(ErrorKind::value, "device", '"', name, "\" - expected one of ", known, reason, " - call devices() for a list.");
}

void set_default_device(Device& device) { chosen_device = &device; }

Device& default_device() {
  if (Device* chosen = chosen_device) return *chosen;
  static Device& first = first_choice();
  return first;
}

}  // namespace etude
