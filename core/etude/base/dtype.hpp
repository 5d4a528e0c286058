#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>

#include "etude/base/half.hpp"

namespace etude {

/// Element types. float64 computes only in builds with ETUDE_FLOAT64 (native and tests). float16 and bfloat16 are
/// storage types; float32 computes them.
enum class DType : std::uint8_t { float32, float64, int32, uint8, boolean, float16, bfloat16 };

/// Bytes of an element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return 8;
    case DType::float32:
    case DType::int32: return 4;
    case DType::float16:
    case DType::bfloat16: return 2;
    case DType::uint8:
    case DType::boolean: return 1;
  }
  return 0;
}

/// Half precision.
constexpr bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }
/// Whether it is float32, float64 or one of half precision.
constexpr bool is_floating(DType dtype) { return dtype == DType::float32 || dtype == DType::float64 || is_half(dtype); }

/// Keras's name: "float32", "bool", …
std::string_view name_of(DType dtype);
/// The dtype with this name; throws Error(dtype) with the list of existing names.
DType dtype_from_name(std::string_view name);
std::ostream& operator<<(std::ostream& out, DType dtype);

/// The float type of new layers, losses and metrics, to which float data is cast (L-38). Default: "float32". Set it
/// before layers are made. Source: keras/src/backend/config.py.
DType floatx();
/// Sets the result of floatx().
void set_floatx(DType dtype);

/// While it exists, floatx() is another dtype on this thread: that of the loss or metric which is made or computed.
class FloatxScope {
 public:
  /// Sets the result of floatx().
  explicit FloatxScope(DType dtype);
  /// The same, by the name of a dtype of floats or of a policy, whose dtype of computation it is. An empty name changes
  /// nothing. Throws Error(dtype), with `where`, for other names and where the build lacks the dtype.
  FloatxScope(std::string_view name, std::string_view where);
  ~FloatxScope();
  FloatxScope(const FloatxScope&) = delete;
  FloatxScope& operator=(const FloatxScope&) = delete;
  /// The dtype of the innermost scope; none outside all scopes.
  static std::optional<DType> current();

 private:
  std::optional<DType> outer_;
};

/// The dtype in which layers compute, and that of their variables. "float32" and "float64" set both; "mixed_float16"
/// and "mixed_bfloat16" compute in half precision with variables of float32: on a GPU that is faster, elsewhere it
/// gives the same numbers. Source: keras/src/dtype_policies/dtype_policy.py.
struct DTypePolicy {
  /// The dtype of computation, and that of variables.
  DType compute_dtype = DType::float32, variable_dtype = DType::float32;

  /// Throws Error(dtype) with `where` and the list of existing names.
  static DTypePolicy from_name(std::string_view name, std::string_view where = "DTypePolicy");
  /// Keras's name of the policy: "float32", "mixed_float16", …
  std::string_view name() const;
  friend bool operator==(const DTypePolicy&, const DTypePolicy&) = default;
};
/// The policy of new layers: floatx(), unless another one was set. The empty name resets it.
DTypePolicy dtype_policy();
/// Sets the result of dtype_policy(). Throws Error(dtype) for an unknown name.
void set_dtype_policy(std::string_view name);

template <class T> struct DTypeOf;
template <> struct DTypeOf<float> {
  static constexpr DType value = DType::float32;
};
template <> struct DTypeOf<double> {
  static constexpr DType value = DType::float64;
};
template <> struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::int32;
};
template <> struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::uint8;
};
template <> struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <> struct DTypeOf<Float16> {
  static constexpr DType value = DType::float16;
};
template <> struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bfloat16;
};
/// DTypeOf<T>::value.
template <class T> inline constexpr DType dtype_of = DTypeOf<T>::value;

/// Calls `visitor` with a value-initialised element of `dtype`'s C++ type.
template <class Visitor> decltype(auto) visit_dtype(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::float64: return visitor(double{});
    case DType::int32: return visitor(std::int32_t{});
    case DType::uint8: return visitor(std::uint8_t{});
    case DType::boolean: return visitor(bool{});
    case DType::float16: return visitor(Float16{});
    case DType::bfloat16: return visitor(BFloat16{});
    case DType::float32: break;
  }
  return visitor(float{});
}

}  // namespace etude
