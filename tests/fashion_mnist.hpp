#pragma once

#include <cstdint>

#include "etude/base/tensor.hpp"

/// The training set of Fashion-MNIST, from the folder of the environment variable ETUDE_FASHION_MNIST, or that of
/// Debian's dataset-fashion-mnist. Files may be gzipped, in builds with zlib. Throw Error(io).
namespace etude::fashion_mnist {

constexpr std::int64_t samples = 60000;

/// The first `rows` images, byte / 255: [rows, 784].
Tensor images(std::int64_t rows = samples, DType dtype = DType::float32);
/// Their classes, 0 to 9, int32: [rows].
Tensor labels(std::int64_t rows = samples);

}  // namespace etude::fashion_mnist
