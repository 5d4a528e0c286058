#include "etude/base/dtype.hpp"

#include <array>
#include <atomic>
#include <ostream>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {
namespace {

constexpr std::array<std::string_view, 7> names{"float32", "float64", "int32", "uint8", "bool", "float16", "bfloat16"};
std::atomic<DType> floatx_{DType::float32};
constexpr DTypePolicy as_floatx{DType::boolean, DType::boolean};  // a dtype that no layer has
std::atomic<DTypePolicy> policy_{as_floatx};
thread_local std::optional<DType> floatx_in_scope;

}  // namespace

std::string_view name_of(DType dtype) { return names[static_cast<std::size_t>(dtype)]; }

DType dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<DType>(i);
  fail(ErrorKind::dtype, "dtype", '"', name,
       "\" - expected float32, float64, float16, bfloat16, int32, uint8 or bool - pass one of these.");
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

DType floatx() { return floatx_in_scope.value_or(floatx_.load(std::memory_order_relaxed)); }

FloatxScope::FloatxScope(DType dtype) : outer_(std::exchange(floatx_in_scope, dtype)) {}
FloatxScope::FloatxScope(std::string_view name, std::string_view where) : outer_(floatx_in_scope) {
  if (name.empty()) return;
  const bool half = name == name_of(DType::float16) || name == name_of(DType::bfloat16);
  floatx_in_scope = half ? dtype_from_name(name) : DTypePolicy::from_name(name, where).compute_dtype;
}
FloatxScope::~FloatxScope() { floatx_in_scope = outer_; }
std::optional<DType> FloatxScope::current() { return floatx_in_scope; }

void set_floatx(DType dtype) {
  check(is_floating(dtype) && !is_half(dtype), ErrorKind::dtype, "set_floatx", dtype,
        " - expected float32 or float64 - pass one of these; for half precision, call "
        "set_dtype_policy(\"mixed_bfloat16\").");
#ifndef ETUDE_FLOAT64
  check(dtype == DType::float32, ErrorKind::dtype, "set_floatx", dtype,
        " - this build computes in float32 only - use a native build for float64.");
#endif
  floatx_.store(dtype, std::memory_order_relaxed);
}

DTypePolicy DTypePolicy::from_name(std::string_view name, std::string_view where) {
  if (name == "mixed_float16") return {DType::float16, DType::float32};
  if (name == "mixed_bfloat16") return {DType::bfloat16, DType::float32};
#ifndef ETUDE_FLOAT64
  check(name != name_of(DType::float64), ErrorKind::dtype, where, "dtype \"", name,
        "\" - this build computes in float32 only - use a native build for float64.");
#endif
  for (const DType dtype : {DType::float32, DType::float64})
    if (name == name_of(dtype)) return {dtype, dtype};
  fail(ErrorKind::dtype, where, "dtype \"", name,
       "\" - expected \"float32\", \"float64\", \"mixed_float16\" or \"mixed_bfloat16\" - choose one.");
}

std::string_view DTypePolicy::name() const {
  return compute_dtype == DType::float16    ? "mixed_float16"
         : compute_dtype == DType::bfloat16 ? "mixed_bfloat16"
                                            : name_of(compute_dtype);
}

DTypePolicy dtype_policy() {
  const DTypePolicy set = policy_.load(std::memory_order_relaxed);
  return set == as_floatx ? DTypePolicy{floatx(), floatx()} : set;
}

void set_dtype_policy(std::string_view name) {
  policy_.store(name.empty() ? as_floatx : DTypePolicy::from_name(name), std::memory_order_relaxed);
}

}  // namespace etude
