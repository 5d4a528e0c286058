#pragma once

#include <cstdint>
#include <span>

namespace etude::initializers {

/// Puts Q of the factorization a = Q R in the place of `a`, [rows, columns] with rows >= columns: columns of length 1
/// at right angles to each other. The diagonal of R is not negative, which makes Q unique. The same bits on every
/// target and on any number of threads: therefore it is our own and not Eigen's QR, which adds in an order that depends
/// on the instruction set, and which would add bytes to the WebAssembly module. Blocked Householder reflections.
/// Source: Schreiber and Van Loan, "A Storage-Efficient WY Representation for Products of Householder Transformations",
/// 1989.
void orthonormalize(std::span<double> a, std::int64_t rows, std::int64_t columns);

}  // namespace etude::initializers
