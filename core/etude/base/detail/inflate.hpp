#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace etude {

/// Decompresses DEFLATE data that must fill `out` exactly. Returns the number of bytes of `in` that it used, or nothing
/// if the data is damaged, ends early, or has another size. Needs no library, so that every build has it. Source: RFC
/// 1951.
std::optional<std::size_t> inflate(std::span<const std::byte> in, std::span<std::byte> out);

/// The same for the format of zlib: a header of two bytes and, at the end of `in`, an Adler-32 checksum. Returns
/// whether all of it is right. Source: RFC 1950.
bool inflate_zlib(std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace etude
