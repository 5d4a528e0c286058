#pragma once

#include <cstddef>
#include <span>

namespace etude {

/// Decompresses data in the format of zlib, which must fill `out` exactly, and end where `in` ends. Returns whether the
/// data is valid, its checksum included. Source: RFC 1950.
bool inflate_zlib(std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace etude
