#pragma once

#include <cstdint>
#include <span>

namespace etude::initializers {

/// Replaces `a`, [rows, columns] with rows >= columns, by the Q of its factorization a = Q R: orthonormal columns. The
/// diagonal of R is not negative, which makes Q unique. The bits are the same on every target and on any number of
/// threads. Therefore it does not use Eigen's QR, which sums in an order that depends on the instruction set, and which
/// would enlarge the WebAssembly module. Blocked Householder reflections. Source: Schreiber and Van Loan, "A
/// Storage-Efficient WY Representation for Products of Householder Transformations", 1989.
void orthonormalize(std::span<double> a, std::int64_t rows, std::int64_t columns);

}  // namespace etude::initializers
