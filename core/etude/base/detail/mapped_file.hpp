#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace etude {

/// The bytes of a file, mapped into memory, so that the system loads them on demand; read at once if the system cannot
/// map it. They are valid while a copy of the pointer exists. Throws Error(io) with the system's reason. If the file
/// becomes shorter, reading missing bytes ends the process, except within read_mapped.
std::shared_ptr<const std::span<const std::byte>> map_file(const std::string& path);

namespace detail {
/// Returns false if `read` reached bytes of a mapped file that do not exist any more.
bool read_whole(void (*read)(void* context), void* context);
[[noreturn]] void fail_at_shorter_file(std::string_view where);
}  // namespace detail

/// Calls `read`, which reads bytes of map_file, and throws Error(io) if the file has become shorter. The error may
/// leave `read` at any of its reads, so nothing in it may have a destructor.
template <class Read> void read_mapped(std::string_view where, Read read) {
  const auto call = [](void* context) { (*static_cast<Read*>(context))(); };
  if (!detail::read_whole(call, &read)) detail::fail_at_shorter_file(where);
}

}  // namespace etude
