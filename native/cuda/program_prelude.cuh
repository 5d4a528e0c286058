// The text at the beginning of every program: the part of the standard library that base/half.hpp and
// graph/elementwise.hpp use, which follow it. The runtime defines before it: ENTRY, PARAMETER, SEGMENT, EACH_ELEMENT,
// EACH_ROW, EACH, LANES, LANE, INFINITE, NOT_A_NUMBER and across_lanes().

namespace std {

template <class A, class B> inline constexpr bool is_same_v = false;
template <class A> inline constexpr bool is_same_v<A, A> = true;
template <class T> inline constexpr bool is_arithmetic_v =
    is_same_v<T, float> || is_same_v<T, double> || is_same_v<T, int> || is_same_v<T, bool>;
template <class A, class B> concept convertible_to = true;
template <class T> struct remove_cv { using type = T; };
template <class T> struct remove_cv<const T> { using type = T; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class...> struct tuple;
using uint16_t = unsigned short;
using uint32_t = unsigned;
template <class To, class From> constexpr To bit_cast(const From& x) { return __builtin_bit_cast(To, x); }

inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }
inline int abs(int x) { return x < 0 ? -x : x; }
#define FUNCTION(name)                                   \
  inline float name(float x) { return ::name##f(x); }    \
  inline double name(double x) { return ::name(x); }
FUNCTION(atan)
FUNCTION(ceil)
FUNCTION(cos)
FUNCTION(erf)
FUNCTION(exp)
FUNCTION(expm1)
FUNCTION(floor)
FUNCTION(log)
FUNCTION(log1p)
FUNCTION(sin)
FUNCTION(sqrt)
FUNCTION(tanh)
#undef FUNCTION
inline float pow(float x, float y) { return powf(x, y); }
inline double pow(double x, double y) { return ::pow(x, y); }
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return ::fma(x, y, z); }
template <class T> inline bool isfinite(T x) { return x - x == T(0); }

}  // namespace std

/// Conversions between lanes.
template <class To, class From> inline To convert(From x) { return static_cast<To>(x); }
template <> inline int convert<int, float>(float x) {
  return x > -0x1p31f && x < 0x1p31f ? static_cast<int>(x) : -2147483647 - 1;
}
template <> inline int convert<int, double>(double x) {
  return x > -0x1p31 && x < 0x1p31 ? static_cast<int>(x) : -2147483647 - 1;
}
inline float to_byte(float x) { return x >= 1 ? (x < 255 ? static_cast<float>(static_cast<int>(x)) : 255.0f) : 0.0f; }

/// W neighbours, which are loaded or stored by the fewest possible instructions.
template <class T, int W> struct alignas(W * sizeof(T) < 16 ? W * sizeof(T) : 16) Numbers {
  T x[W];
};
#define EACH_NUMBER _Pragma("unroll") for (int w = 0; w < W; ++w)

template <class T> inline T sum_lanes(T x) {
  for (int mask = LANES / 2; mask > 0; mask /= 2) x += across_lanes(x, mask);
  return x;
}
/// NaN is larger than any number.
template <class T> inline T larger(T a, T b) { return a > b || a != a ? a : b; }
template <class T> inline T max_lanes(T x) {
  for (int mask = LANES / 2; mask > 0; mask /= 2) x = larger(x, across_lanes(x, mask));
  return x;
}

/// An element of a product: the sum over `depth` numbers of a and b, which are `along_a` and `along_b` elements apart.
template <class Lane, int depth, long long along_a, long long along_b, class T>
inline Lane product(const T* a, const T* b) {
  Lane sum = 0;
  _Pragma("unroll 16") for (int i = 0; i < depth; ++i)
    sum = std::fma(static_cast<Lane>(a[i * along_a]), static_cast<Lane>(b[i * along_b]), sum);
  return sum;
}
/// The same bits, for numbers that are neighbours.
template <int depth> inline float product_by_fours(const float* a, const float* b) {
  struct alignas(16) Four {
    float x, y, z, w;
  };
  float sum = 0;
  _Pragma("unroll 4") for (int i = 0; i < depth; i += 4) {
    const Four p = *reinterpret_cast<const Four*>(a + i), q = *reinterpret_cast<const Four*>(b + i);
    sum = fmaf(p.w, q.w, fmaf(p.z, q.z, fmaf(p.y, q.y, fmaf(p.x, q.x, sum))));
  }
  return sum;
}
