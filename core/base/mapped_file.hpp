#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace etude {

/// The bytes of a file, which the system brings into memory as they are read; where it cannot, all are read at once.
/// They are there as long as somebody has the pointer. Throws Error(io) with the system's reason. A file must not get
/// shorter meanwhile.
std::shared_ptr<const std::span<const std::byte>> map_file(const std::string& path);

}  // namespace etude
