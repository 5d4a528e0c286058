#pragma once

#include <cmath>
#include <tuple>
#include <type_traits>

/// The elementwise functions, defined once for all devices. `F::apply` works on a scalar and on a SIMD batch, whose
/// functions argument-dependent lookup finds. Conditions are 1 and 0 in the operand's type.
namespace etude::op {

namespace math {

using std::abs, std::atan, std::ceil, std::cos, std::erf, std::exp, std::expm1, std::floor, std::fma, std::isfinite,
    std::log, std::log1p, std::pow, std::sin, std::sqrt, std::tanh;

/// `condition ? a : b` for scalars; batches have their own `select`.
template <class T>
  requires std::is_arithmetic_v<T>
constexpr T select(bool condition, T a, T b) {
  return condition ? a : b;
}

/// 1 where the condition holds, else 0.
template <class V, class Condition> V truth(const Condition& condition) { return select(condition, V(1), V(0)); }

}  // namespace math

/// The properties of an elementwise function, besides its formula.
struct FunctionTraits {
  int arity;
  bool floating = false;  ///< Whether it is defined for float types only.
  /// Whether its result is a condition: boolean, for any type of operands.
  bool condition = false;
  /// Whether its result for bytes may not be a byte. Bytes are computed in float lanes, where such a result would be
  /// one number in a fused program and another in memory.
  bool leaves_bytes = false;
  bool cheap = false;  ///< Whether it takes only some cycles in a register; a load takes as long.
  bool differentiable = true;
};

struct Negate {
  static constexpr FunctionTraits traits{.arity = 1, .leaves_bytes = true, .cheap = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return -x;
  }
  friend bool operator==(Negate, Negate) = default;
};

struct Absolute {
  static constexpr FunctionTraits traits{.arity = 1, .cheap = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return abs(x);
  }
  friend bool operator==(Absolute, Absolute) = default;
};

struct Sign {
  static constexpr FunctionTraits traits{.arity = 1, .differentiable = false};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return truth<V>(x > V(0)) - truth<V>(x < V(0));
  }
  friend bool operator==(Sign, Sign) = default;
};

struct Square {
  static constexpr FunctionTraits traits{.arity = 1, .leaves_bytes = true, .cheap = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return x * x;
  }
  friend bool operator==(Square, Square) = default;
};

struct Sqrt {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return sqrt(x);
  }
  friend bool operator==(Sqrt, Sqrt) = default;
};

struct Exp {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return exp(x);
  }
  friend bool operator==(Exp, Exp) = default;
};

struct Log {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return log(x);
  }
  friend bool operator==(Log, Log) = default;
};

struct Log1p {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return log1p(x);
  }
  friend bool operator==(Log1p, Log1p) = default;
};

struct Sin {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return sin(x);
  }
  friend bool operator==(Sin, Sin) = default;
};

struct Cos {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return cos(x);
  }
  friend bool operator==(Cos, Cos) = default;
};

struct Arctan {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return atan(x);
  }
  friend bool operator==(Arctan, Arctan) = default;
};

struct Tanh {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return tanh(x);
  }
  friend bool operator==(Tanh, Tanh) = default;
};

/// 1 / (1 + e^-x). If e^-x overflows to infinity, the quotient is 0, which is correct.
struct Sigmoid {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return V(1) / (V(1) + exp(-x));
  }
  friend bool operator==(Sigmoid, Sigmoid) = default;
};

/// NaN stays NaN, so that the loss shows it.
struct Relu {
  static constexpr FunctionTraits traits{.arity = 1, .cheap = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return select(x <= V(0), V(0), x);
  }
  friend bool operator==(Relu, Relu) = default;
};

/// log(1 + e^x), without an exponential of a positive number.
struct Softplus {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return select(x > V(0), x, V(0)) + log1p(exp(-abs(x)));
  }
  friend bool operator==(Softplus, Softplus) = default;
};

/// Beyond 6 the result is 1 in every precision, and an implementation's square may overflow.
struct Erf {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return erf(select(x > V(6), V(6), select(x < V(-6), V(-6), x)));
  }
  friend bool operator==(Erf, Erf) = default;
};

struct Floor {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true, .differentiable = false};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return floor(x);
  }
  friend bool operator==(Floor, Floor) = default;
};

struct LogicalNot {
  static constexpr FunctionTraits traits{.arity = 1, .condition = true, .cheap = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return truth<V>(x == V(0));
  }
  friend bool operator==(LogicalNot, LogicalNot) = default;
};

/// x - x is NaN for NaN and for either infinity.
struct IsFinite {
  static constexpr FunctionTraits traits{.arity = 1, .floating = true, .condition = true};
  template <class V> static V apply(const V& x) {
    using namespace math;
    return truth<V>(x - x == V(0));
  }
  friend bool operator==(IsFinite, IsFinite) = default;
};

struct Add {
  static constexpr FunctionTraits traits{.arity = 2, .leaves_bytes = true, .cheap = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return a + b;
  }
  friend bool operator==(Add, Add) = default;
};

struct Subtract {
  static constexpr FunctionTraits traits{.arity = 2, .leaves_bytes = true, .cheap = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return a - b;
  }
  friend bool operator==(Subtract, Subtract) = default;
};

struct Multiply {
  static constexpr FunctionTraits traits{.arity = 2, .leaves_bytes = true, .cheap = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return a * b;
  }
  friend bool operator==(Multiply, Multiply) = default;
};

struct Divide {
  static constexpr FunctionTraits traits{.arity = 2, .floating = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return a / b;
  }
  friend bool operator==(Divide, Divide) = default;
};

struct Power {
  static constexpr FunctionTraits traits{.arity = 2, .floating = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return pow(a, b);
  }
  friend bool operator==(Power, Power) = default;
};

/// NaN if either is.
struct Maximum {
  static constexpr FunctionTraits traits{.arity = 2, .cheap = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return select(a > b || a != a, a, b);
  }
  friend bool operator==(Maximum, Maximum) = default;
};

/// NaN if either is.
struct Minimum {
  static constexpr FunctionTraits traits{.arity = 2, .cheap = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return select(a < b || a != a, a, b);
  }
  friend bool operator==(Minimum, Minimum) = default;
};

struct Equal {
  static constexpr FunctionTraits traits{.arity = 2, .condition = true, .cheap = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return truth<V>(a == b);
  }
  friend bool operator==(Equal, Equal) = default;
};

struct Less {
  static constexpr FunctionTraits traits{.arity = 2, .condition = true, .cheap = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return truth<V>(a < b);
  }
  friend bool operator==(Less, Less) = default;
};

struct LessEqual {
  static constexpr FunctionTraits traits{.arity = 2, .condition = true, .cheap = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return truth<V>(a <= b);
  }
  friend bool operator==(LessEqual, LessEqual) = default;
};

struct LogicalAnd {
  static constexpr FunctionTraits traits{.arity = 2, .condition = true, .cheap = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return truth<V>(a != V(0)) * truth<V>(b != V(0));
  }
  friend bool operator==(LogicalAnd, LogicalAnd) = default;
};

struct LogicalOr {
  static constexpr FunctionTraits traits{.arity = 2, .condition = true, .cheap = true};
  template <class V> static V apply(const V& a, const V& b) {
    using namespace math;
    return truth<V>(a != V(0)) + truth<V>(b != V(0)) - truth<V>(a != V(0)) * truth<V>(b != V(0));
  }
  friend bool operator==(LogicalOr, LogicalOr) = default;
};

/// a where c is not 0, else b.
struct Select {
  static constexpr FunctionTraits traits{.arity = 3, .cheap = true};
  template <class V> static V apply(const V& c, const V& a, const V& b) {
    using namespace math;
    return select(c != V(0), a, b);
  }
  friend bool operator==(Select, Select) = default;
};

/// The elementwise functions, in the order of their opcodes.
using Elementwise = std::tuple<Negate, Absolute, Sign, Square, Sqrt, Exp, Log, Log1p, Sin, Cos, Arctan, Tanh, Sigmoid,
                               Relu, Softplus, Erf, Floor, LogicalNot, IsFinite, Add, Subtract, Multiply, Divide, Power,
                               Maximum, Minimum, Equal, Less, LessEqual, LogicalAnd, LogicalOr, Select>;

template <class F>
concept ElementwiseOp = std::is_same_v<std::remove_cv_t<decltype(F::traits)>, FunctionTraits>;

}  // namespace etude::op
