#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "etude/base/vfs.hpp"

namespace etude {

/// Asked before every call to the system, so that tests can make it fail: the errno that it fails with, or 0. It may
/// lower `bytes`, those that a read or write is to move.
using SystemFault = std::function<int(std::string_view call, std::size_t& bytes)>;

/// The files of a POSIX system; null where there is none. What a signal interrupts and what is written in part is gone
/// on with. Locks are those of flock, which hold between processes and between two of one process.
std::shared_ptr<Vfs> system_vfs(SystemFault fault = {});

}  // namespace etude
