#pragma once

namespace etude {

/// Whether the program can load libraries of devices, such as those of GPUs. A page cannot, so it does not download
/// code that only their devices use.
#ifdef ETUDE_WITHOUT_DEVICE_LIBRARIES
inline constexpr bool has_device_libraries = false;
#else
inline constexpr bool has_device_libraries = true;
#endif

}  // namespace etude
