#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace etude {

/// All bytes of the file at `path`; throws Error(io) with the system's reason.
std::vector<std::byte> read_file(const std::string& path);

}  // namespace etude
