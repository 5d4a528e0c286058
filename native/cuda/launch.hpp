#pragma once

#include "cuda/cuda.hpp"
#include "cuda/kernel.hpp"
#include "etude/base/dtype.hpp"

// How class Cuda gets from an instruction to its kernels: addresses and dtypes.

namespace etude::cuda {

/// Where an operand lies; null for one that is not wanted.
template <class T> T* at(Addresses addresses, const Operand& operand) {
  if (operand.space < 0) return nullptr;
  return reinterpret_cast<T*>(addresses[static_cast<std::size_t>(operand.space)] + operand.offset);
}

/// Calls body with a float or a double, as the dtype says.
template <class Body> void with_float(DType dtype, Body body) {
  if (dtype == DType::float64) return body(double{});
  body(float{});
}

/// The same with the type in which it is stored, which may be half precision.
template <class Body> void with_stored(DType dtype, Body body) {
  if (dtype == DType::float16) return body(Float16{});
  if (dtype == DType::bfloat16) return body(BFloat16{});
  with_float(dtype, body);
}

/// A size as kernels compute with it: on a GPU, numbers of 32 bits are the cheap ones.
constexpr int narrow(std::int64_t size) { return static_cast<int>(size); }

}  // namespace etude::cuda
