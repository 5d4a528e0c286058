#pragma once

#include <cstdint>
#include <string_view>

/// Hashes of texts that have the same values in every program: TensorFlow's.
namespace etude {

/// Fingerprint64 of FarmHash. Source: Hash64 of namespace farmhashna in
/// https://github.com/google/farmhash/blob/master/src/farmhash.cc.
std::uint64_t fingerprint64(std::string_view text);
/// The fingerprint of two fingerprints, in this order. Source: FingerprintCat64 in
/// tensorflow/core/platform/fingerprint.h.
std::uint64_t concatenated_fingerprints(std::uint64_t first, std::uint64_t second);
/// SipHash-2-4 with a key of two numbers. Source: Aumasson and Bernstein, SipHash: a fast short-input PRF, 2012.
std::uint64_t sip_hash(std::string_view text, std::uint64_t key0, std::uint64_t key1);

}  // namespace etude
