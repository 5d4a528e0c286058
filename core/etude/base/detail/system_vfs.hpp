#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "etude/base/vfs.hpp"

namespace etude {

/// Called before every system call, so that tests can make it fail. Returns the errno of the failure, or 0. It may
/// reduce `bytes`, the bytes that a read or write moves.
using SystemFault = std::function<int(std::string_view call, std::size_t& bytes)>;

/// The files of a POSIX system; null on other systems. Interrupted calls and partial writes are continued. Locks are
/// those of flock, which work between processes and within one.
std::shared_ptr<Vfs> system_vfs(SystemFault fault = {});

}  // namespace etude
