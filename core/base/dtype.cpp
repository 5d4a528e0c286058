#include "etude/base/dtype.hpp"

#include <array>
#include <atomic>
#include <ostream>

#include "etude/base/error.hpp"

namespace etude {
namespace {

constexpr std::array<std::string_view, 5> names{"float32", "float64", "int32", "uint8", "bool"};
std::atomic<DType> floatx_{DType::float32};

}  // namespace

std::string_view name_of(DType dtype) { return names[static_cast<std::size_t>(dtype)]; }

DType dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<DType>(i);
  fail(ErrorKind::dtype, "dtype", '"', name, "\" - expected float32, float64, int32, uint8 or bool - choose one.");
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

DType floatx() { return floatx_.load(std::memory_order_relaxed); }

void set_floatx(DType dtype) {
  check(is_floating(dtype), ErrorKind::dtype, "set_floatx", dtype, " - expected float32 or float64 - choose one.");
#ifndef ETUDE_FLOAT64
  check(dtype == DType::float32, ErrorKind::dtype, "set_floatx", dtype,
        " - this build computes in float32 only - use a native build for float64.");
#endif
  floatx_.store(dtype, std::memory_order_relaxed);
}

}  // namespace etude
