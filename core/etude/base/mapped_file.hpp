#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace etude {

/// The bytes of a file, which the system brings into memory as they are read; where it cannot, all are read at once.
/// They are there as long as there is a copy of the pointer. Throws Error(io) with the system's reason. A file that
/// gets shorter meanwhile ends the process where its bytes are read, unless that is done by read_mapped.
std::shared_ptr<const std::span<const std::byte>> map_file(const std::string& path);

namespace detail {
/// False where `read` came to bytes of a mapped file that are not there any more.
bool read_whole(void (*read)(void* context), void* context);
[[noreturn]] void fail_at_shorter_file(std::string_view where);
}  // namespace detail

/// Calls `read`, which reads bytes that map_file gave, and throws Error(io) if the file has become shorter. `read` is
/// left at any of its reads then: nothing in it may have a destructor.
template <class Read> void read_mapped(std::string_view where, Read read) {
  const auto call = [](void* context) { (*static_cast<Read*>(context))(); };
  if (!detail::read_whole(call, &read)) detail::fail_at_shorter_file(where);
}

}  // namespace etude
