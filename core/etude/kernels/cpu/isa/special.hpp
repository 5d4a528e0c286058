#pragma once

// Functions of registers where xsimd's are not exact to the last places (power in both widths, erf in float64) or are
// slow (those of e^x in float32).

#include <limits>
#include <type_traits>

#include "etude/kernels/cpu/simd.hpp"

namespace etude::cpu::ETUDE_ISA {

/// c[0] + c[1] x + c[2] x² + …
template <class T, std::size_t N> [[gnu::always_inline]] inline Vec<T> polynomial(const T (&c)[N], Vec<T> x) {
  Vec<T> sum(c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) sum = madd(sum, x, Vec<T>(c[i]));
  return sum;
}

/// A number as a sum: high is the nearest T, and low is the remainder.
template <class T> struct Double {
  Vec<T> high, low;
};

/// a + b exactly, where |a| ≥ |b| or a = 0.
template <class T> [[gnu::always_inline]] inline Double<T> exact_sum(Vec<T> a, Vec<T> b) {
  const Vec<T> sum = a + b;
  return {sum, b - (sum - a)};
}

/// a · b exactly: by fused arithmetic, or by halves of the factors (Dekker).
template <class T> [[gnu::always_inline]] inline Double<T> exact_product(Vec<T> a, Vec<T> b) {
  const Vec<T> product = a * b;
#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)
  return {product, xsimd::fms(a, b, product)};
#else
  const Vec<T> splitter(sizeof(T) == 8 ? T(0x1p27 + 1) : T(0x1p12 + 1));
  const Vec<T> wide_a = splitter * a, wide_b = splitter * b;
  const Vec<T> a1 = wide_a - (wide_a - a), b1 = wide_b - (wide_b - b), a2 = a - a1, b2 = b - b1;
  return {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
}

template <class T> [[gnu::always_inline]] inline Double<T> product(Double<T> a, Double<T> b) {
  const Double<T> high = exact_product<T>(a.high, b.high);
  return {high.high, high.low + (a.high * b.low + a.low * b.high)};
}

/// The constants of a floating-point type for its logarithm and exponential.
template <class T> struct Format;
template <> struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int fraction = 23, bias = 127;
  static constexpr Bits root_half = 0x3F3504F3, one = 0x3F800000;
  static constexpr float whole = 0x1p23f, round = 0x1.8p23f, small = 0x1p-126f, up = 0x1p25f, far = 0x1p40f,
                         up_log2 = 25;
  // log 2 as a sum; the product of the first with any exponent is exact.
  static constexpr float log2_high = 0x1.62ep-1f, log2_low = 0x1.0bfbe8p-15f, log2_e = 0x1.715476p0f;
  static constexpr float two_thirds_low = -0x1.5555560000000p-26f;  ///< 2/3 less the nearest float
  static constexpr float beyond = 120;  ///< e to the power of it overflows, and of its negative is not normal
  static constexpr float log_series[] = {2 / 5.0f, 2 / 7.0f, 2 / 9.0f, 2 / 11.0f};
  static constexpr float exp_series[] = {1 / 2.0f, 1 / 6.0f, 1 / 24.0f, 1 / 120.0f, 1 / 720.0f, 1 / 5040.0f};
};
template <> struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int fraction = 52, bias = 1023;
  static constexpr Bits root_half = 0x3FE6A09E667F3BCD, one = 0x3FF0000000000000;
  static constexpr double whole = 0x1p52, round = 0x1.8p52, small = 0x1p-1022, up = 0x1p54, far = 0x1p70, up_log2 = 54;
  static constexpr double log2_high = 0x1.62e42feep-1, log2_low = 0x1.a39ef35793c76p-33, log2_e = 0x1.71547652b82fep0;
  static constexpr double two_thirds_low = 0x1.5555555555555p-55;
  static constexpr double beyond = 800;
  static constexpr double log_series[] = {2 / 5.0,  2 / 7.0,  2 / 9.0,  2 / 11.0, 2 / 13.0,
                                          2 / 15.0, 2 / 17.0, 2 / 19.0, 2 / 21.0, 2 / 23.0};
  static constexpr double exp_series[] = {1 / 2.0,       1 / 6.0,        1 / 24.0,        1 / 120.0,
                                          1 / 720.0,     1 / 5040.0,     1 / 40320.0,     1 / 362880.0,
                                          1 / 3628800.0, 1 / 39916800.0, 1 / 479001600.0, 1 / 6227020800.0};
};

/// log a to half as many places again as T has, for finite a > 0: a = 2^k m with m from √½ to √2, and log m = 2 s + 2/3
/// s³ + 2/5 s⁵ + … of s = (m - 1) / (m + 1).
template <class T> [[gnu::always_inline]] inline Double<T> wide_log(Vec<T> a) {
  using F = Format<T>;
  using Bits = xsimd::batch<typename F::Bits, Arch>;
  const auto tiny = a < Vec<T>(F::small);
  a = select(tiny, a * Vec<T>(F::up), a);
  const Bits shifted = xsimd::bitwise_cast<typename F::Bits>(a) + Bits(F::one - F::root_half);
  const Bits biased = shifted >> F::fraction;
  const Vec<T> m =
      xsimd::bitwise_cast<T>((shifted & Bits((typename F::Bits{1} << F::fraction) - 1)) + Bits(F::root_half));
  const Vec<T> number = xsimd::bitwise_cast<T>(biased | xsimd::bitwise_cast<typename F::Bits>(Vec<T>(F::whole)));
  const Vec<T> k = number - Vec<T>(F::whole + F::bias) - select(tiny, Vec<T>(F::up_log2), Vec<T>(0));

  const Vec<T> one(1), over = m - one, under = m + one, missing = m - (under - one);
  const Vec<T> quotient = over / under;
  const Double<T> back = exact_product<T>(quotient, under);
  const Double<T> s{quotient, ((over - back.high) - back.low - quotient * missing) / under};
  const Double<T> square = product<T>(s, s), cube = product<T>(square, s);
  const Double<T> third = product<T>({Vec<T>(T(2) / 3), Vec<T>(F::two_thirds_low)}, cube);
  const Vec<T> rest = cube.high * square.high * polynomial(F::log_series, square.high);

  const Double<T> log_m = exact_sum<T>(s.high + s.high, third.high);
  const Double<T> sum = exact_sum<T>(k * Vec<T>(F::log2_high), log_m.high);
  const Vec<T> low = s.low + s.low + third.low + rest + k * Vec<T>(F::log2_low);
  return exact_sum<T>(sum.high, sum.low + (log_m.low + low));
}

/// e to the power of high + low: 2^n e^r with r from -½ log 2 to ½ log 2.
template <class T> [[gnu::always_inline]] inline Vec<T> wide_exp(Double<T> x) {
  using F = Format<T>;
  using Bits = xsimd::batch<typename F::Bits, Arch>;
  const Vec<T> beyond(F::beyond), round(F::round);
  x.low = select(abs(x.high) < beyond, x.low, Vec<T>(0));
  x.high = select(x.high > beyond, beyond, select(x.high < -beyond, -beyond, x.high));
  // The last digit of `round` is the units' digit, so that adding it rounds to an integer.
  const auto nearest = [&](Vec<T> v) __attribute__((always_inline)) { return (v + round) - round; };
  const Vec<T> n = nearest(x.high * Vec<T>(F::log2_e));
  const Vec<T> r = (x.high - n * Vec<T>(F::log2_high)) + (x.low - n * Vec<T>(F::log2_low));
  const Vec<T> e = Vec<T>(1) + madd(r * r, polynomial(F::exp_series, r), r);
  // The last bits of so large a number are an exponent's field. Two steps, because one could leave the range of
  // exponents.
  const auto two_to = [&](Vec<T> v) __attribute__((always_inline)) {
    const Bits field = xsimd::bitwise_cast<typename F::Bits>(v + Vec<T>(F::round + F::bias));
    return xsimd::bitwise_cast<T>(field << F::fraction);
  };
  const Vec<T> half = nearest(n * Vec<T>(T(0.5)));
  return e * two_to(half) * two_to(n - half);
}

/// a to the power of b as in C, except that a fractional power of -infinity is NaN, as for any negative number.
template <class T> [[gnu::always_inline]] inline Vec<T> power(Vec<T> a, Vec<T> b) {
  using F = Format<T>;
  const Vec<T> zero(0), one(1), infinity(std::numeric_limits<T>::infinity()), size = abs(a);
  Double<T> log = wide_log<T>(size);
  log.high = select(size == zero, -infinity, select(size == infinity, infinity, log.high));
  // Beyond `far` the result is 0, 1 or infinity; the limit keeps the products from overflowing.
  const Vec<T> far(F::far), exponent = select(b > far, far, select(b < -far, -far, b));
  const Double<T> high = exact_product<T>(log.high, exponent);
  Vec<T> y = wide_exp<T>({high.high, high.low + log.low * exponent});

  const Vec<T> half = b * Vec<T>(T(0.5));
  const auto whole = trunc(b) == b || abs(b) == infinity, odd = whole && trunc(half) != half && abs(b) != infinity;
  y = select(odd, xsimd::copysign(y, a), y);
  const auto none = a != a || b != b || (a < zero && !whole);
  y = select(none, Vec<T>(std::numeric_limits<T>::quiet_NaN()), y);
  return select(a == one || b == zero, one, y);
}

/// x P(x²) below ¾, 1 - e^(-x²) Q((x - 2) / (x + 2)) from there to 6, and ±1 beyond. P and Q were fitted with forty
/// digits; their error is less than 2^-59.
[[gnu::always_inline]] inline Vec<double> erf(Vec<double> x) {
  static constexpr double near_zero[] = {1.1283791670955126,      -0.37612638903183715,    0.11283791670952632,
                                         -0.0268661706444367,     0.005223977615515535,    -0.0008548326195067357,
                                         0.0001205528982248215,   -1.4924202682428685e-05, 1.6430780563604392e-06,
                                         -1.5940873360932104e-07, 1.1475367754911366e-08};
  static constexpr double far_off[] = {0.2553956763105057,      -0.4271858474139606,    0.24165819424248064,
                                       -0.07897858101472473,    0.0037328924102581367,  0.006997461676694446,
                                       -0.0008471439886174701,  -0.0009819780770682755, 4.357235319875727e-05,
                                       0.00017444957865874155,  2.760522042003295e-05,  -2.8222711324639712e-05,
                                       -1.6560905004257607e-05, -3.0324837920190145e-06};
  const Vec<double> one(1.0), two(2.0), six(6.0), size = select(abs(x) > six, six, abs(x));
  const Vec<double> near = x * polynomial(near_zero, x * x);
  const Vec<double> far = one - exp(-size * size) * polynomial(far_off, (size - two) / (size + two));
  return select(size < Vec<double>(0.75), near, xsimd::copysign(far, x));
}

/// e^x = scale · (1 + rest). scale is a power of two, or 0 or infinity where e^x is not normal; rest is from -0.3 to
/// 0.42. x is from -88 to 89. The series was fitted; its error is less than 2^-26 of rest.
struct Exponential {
  Vec<float> scale, rest;

  [[gnu::always_inline]] explicit Exponential(Vec<float> x) {
    using F = Format<float>;
    static constexpr float series[] = {0.499999981f, 0.166665431f, 0.0416672023f, 0.00836659641f, 0.0013882507f};
    // The last digit of `large` is the units' digit; the sum's last bits, shifted up, are an exponent's field.
    const Vec<float> large(F::round + F::bias), shifted = madd(x, Vec<float>(F::log2_e), large), n = shifted - large;
    const Vec<float> r = madd(n, Vec<float>(-F::log2_low), madd(n, Vec<float>(-F::log2_high), x));
    rest = madd(r * r, polynomial(series, r), r);
    scale = xsimd::bitwise_cast<float>(xsimd::bitwise_cast<F::Bits>(shifted) << F::fraction);
  }
};

[[gnu::always_inline]] inline Vec<float> exponential(Vec<float> x) {
  const Exponential e(at_least(at_most(x, 89.0f), -88.0f));
  return e.scale * (e.rest + Vec<float>(1));
}
[[gnu::always_inline]] inline Vec<double> exponential(Vec<double> x) { return xsimd::exp(x); }

/// (e^2x - 1) / (e^2x + 1); ±1 from 9.02 on.
[[gnu::always_inline]] inline Vec<float> tanh(Vec<float> x) {
  x = at_least(at_most(x, 9.02f), -9.02f);
  const Exponential e(x + x);
  const Vec<float> less_one = madd(e.scale, e.rest, e.scale - Vec<float>(1));
  return less_one / (less_one + Vec<float>(2));
}

[[gnu::always_inline]] inline Vec<float> sigmoid(Vec<float> x) {
  const Vec<float> one(1);
  return one / (one + exponential(-x));
}

}  // namespace etude::cpu::ETUDE_ISA
