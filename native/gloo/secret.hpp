#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

/// Functions by which processes prove to each other that they know the same secret, without sending it.
namespace etude::secret {

using Digest = std::array<std::uint8_t, 32>;

/// Source: FIPS 180-4.
Digest sha256(std::string_view bytes);
/// Source: RFC 2104, with SHA-256.
Digest hmac_sha256(std::string_view key, std::string_view bytes);

/// The proof of one side that it knows the secret, for one connection only: both sides contribute a random number to
/// `fields`.
std::string proof(std::string_view secret, std::string_view side, std::initializer_list<std::string_view> fields);

/// 32 random bytes of the system, which nobody can guess. Throws Error(io) if there are none.
std::string random_bytes();
/// Their digits, for an environment variable.
std::string hexadecimal(std::string_view bytes);
/// Compares in a time that does not depend on where they differ.
bool equal(std::string_view a, std::string_view b);

}  // namespace etude::secret
