#pragma once

#include <cstdint>

#include "cuda/kernel.hpp"
#include "cuda/runtime.hpp"
#include "etude/base/dtype.hpp"
#include "etude/execution/device.hpp"

// Addresses and dtypes of an instruction's kernels, for class Cuda.

namespace etude::cuda {

/// The address of an operand; null for one that is not used. Launches are also counted without memory, with null as the
/// address of each space, so the sum is one of integers.
template <class T> T* at(Addresses addresses, const Operand& operand) {
  if (operand.space < 0) return nullptr;
  const auto space = reinterpret_cast<std::uintptr_t>(addresses[static_cast<std::size_t>(operand.space)]);
  return reinterpret_cast<T*>(space + static_cast<std::uintptr_t>(operand.offset));
}

/// Calls body with a float or a double, depending on the dtype.
template <class Body> void with_float(DType dtype, Body body) {
  if (dtype == DType::float64) return body(double{});
  body(float{});
}

/// The same with the stored type, which may be half precision.
template <class Body> void with_stored(DType dtype, Body body) {
  if (dtype == DType::float16) return body(Float16{});
  if (dtype == DType::bfloat16) return body(BFloat16{});
  with_float(dtype, body);
}

/// A size in kernels: 32-bit numbers are cheap on a GPU.
constexpr int narrow(std::int64_t size) { return static_cast<int>(size); }

}  // namespace etude::cuda
