#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/initializers/detail/one_of.hpp"
#include "etude/initializers/detail/seeded.hpp"

namespace etude::initializers {
namespace {

/// Fills a tensor with draws, in the order of its elements.
class Drawn : public Seeded {
 public:
  /// Fills `numbers` with the next draws; `scale` depends on the shape's fans.
  using Draw = std::function<void(Random&, double scale, std::span<double> numbers)>;
  using Scale = std::function<double(const Shape&)>;

  Drawn(std::optional<std::int64_t> seed, Scale scale, Draw draw)
      : Seeded(seed), scale_(std::move(scale)), draw_(std::move(draw)) {}

  Tensor operator()(const Shape& shape, DType dtype) override {
    Random random = begin();
    const double scale = scale_(shape);
    Tensor tensor = Tensor::uninitialized(shape, dtype);
    std::array<double, chunk> numbers;
    for (std::int64_t first = 0; first < tensor.size(); first += chunk) {
      const std::span<double> next(numbers.data(), std::min<std::size_t>(chunk, at(tensor.size() - first)));
      draw_(random, scale, next);
      write_numbers(next, dtype, tensor.raw() + at(first) * size_of(dtype));
    }
    return tensor;
  }

 private:
  /// The numbers that are drawn at a time.
  static constexpr std::int64_t chunk = 512;
  static constexpr std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

  Scale scale_;
  Draw draw_;
};

/// offset + factor (k + shift) for uniform draws k of 0 … 2^24 - 1.
struct Line {
  std::int32_t shift;
  double factor, offset;

  double at(std::uint32_t word) const {
    return offset + factor * static_cast<double>(static_cast<std::int32_t>(word >> 8) + shift);
  }
};

template <class T>
[[gnu::always_inline]] inline void write_line(const Line& line, std::span<const std::uint32_t> words, T* out) {
  for (std::size_t i = 0; i < words.size(); ++i) out[i] = static_cast<T>(line.at(words[i]));
}

#ifdef __x86_64__
[[gnu::target("avx512f")]] void write_line_avx512(const Line& line, std::span<const std::uint32_t> words, float* out) {
  write_line(line, words, out);
}
[[gnu::target("avx2")]] void write_line_avx2(const Line& line, std::span<const std::uint32_t> words, float* out) {
  write_line(line, words, out);
}
#endif

/// The loop at the end of write_numbers, with the widest vectors of the processor.
void write_floats(const Line& line, std::span<const std::uint32_t> words, float* out) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return write_line_avx512(line, words, out);
  if (__builtin_cpu_supports("avx2")) return write_line_avx2(line, words, out);
#endif
  write_line(line, words, out);
}

/// Fills a tensor with uniform draws, in the order of its elements.
class Uniform : public Seeded {
 public:
  /// The line depends on the shape's fans.
  Uniform(std::optional<std::int64_t> seed, std::function<Line(const Shape&)> line)
      : Seeded(seed), line_(std::move(line)) {}

  Tensor operator()(const Shape& shape, DType dtype) override {
    Random random = begin();
    const Line line = line_(shape);
    Tensor tensor = Tensor::uninitialized(shape, dtype);
    const auto size = static_cast<std::size_t>(tensor.size());
    std::array<std::uint32_t, 512> words;
    std::array<double, words.size()> numbers;
    for (std::size_t first = 0; first < size; first += words.size()) {
      const std::span<std::uint32_t> next(words.data(), std::min(words.size(), size - first));
      random.bits(next);
      if (dtype == DType::float32) {
        write_floats(line, next, tensor.data<float>().subspan(first).data());
      } else {
        write_line(line, next, numbers.data());
        write_numbers(std::span(numbers).first(next.size()), dtype, tensor.raw() + first * size_of(dtype));
      }
    }
    return tensor;
  }

 private:
  std::function<Line(const Shape&)> line_;
};

struct Fans {
  double in, out;
};

/// Source: compute_fans in keras/src/initializers/random_initializers.py.
Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  const auto field = static_cast<double>(shape.slice(0, shape.rank() - 2).size());
  return {field * static_cast<double>(shape[-2]), field * static_cast<double>(shape[-1])};
}

double extent_of(const Shape& shape, const Integers& axes) {
  double result = 1;
  for (const std::int64_t axis : axes.all()) {
    const std::size_t at = shape.axis(static_cast<std::ptrdiff_t>(axis), "VarianceScaling");
    result *= static_cast<double>(shape[static_cast<std::ptrdiff_t>(at)]);
  }
  return result;
}

/// The number by which the variance is divided.
double fan_of(const VarianceScalingOptions& o, const Shape& shape) {
  const Fans fans =
      o.input_axes.empty() ? fans_of(shape) : Fans{extent_of(shape, o.input_axes), extent_of(shape, o.output_axes)};
  const double fan = o.mode == "fan_in" ? fans.in : o.mode == "fan_out" ? fans.out : (fans.in + fans.out) / 2;
  return std::max(fan, 1.0);
}

void truncated_draw(Random& random, double stddev, std::span<double> numbers) {
  for (double& x : numbers) x = random.truncated_normal() * stddev;
}
void normal_draw(Random& random, double stddev, std::span<double> numbers) {
  for (double& x : numbers) x = random.normal() * stddev;
}

InitializerPtr scaled(const char* where, const VarianceScalingOptions& o) {
  check(o.input_axes.empty() == o.output_axes.empty(), ErrorKind::value, where,
        "only one of input_axes and output_axes - expected both or none - set the other one too.");
  if (o.distribution == "uniform")
    return std::make_shared<Uniform>(o.seed, [=](const Shape& shape) {
      const double limit = std::sqrt(3 * o.scale / fan_of(o, shape));
      return Line{-(1 << 23), limit * 0x1p-23, 0};  // within ±limit
    });
  const bool truncated = o.distribution == "truncated_normal";
  // Truncation at two sigma reduces the standard deviation to 0.8796… of it.
  const double cut = truncated ? 0.87962566103423978 : 1;
  return std::make_shared<Drawn>(
      o.seed, [=](const Shape& shape) { return std::sqrt(o.scale / fan_of(o, shape)) / cut; },
      truncated ? truncated_draw : normal_draw);
}
InitializerPtr scaled(const char* where, const ScaledOptions& o, double scale, const char* mode,
                      const char* distribution) {
  return scaled(where, {.scale = scale,
                        .mode = mode,
                        .distribution = distribution,
                        .seed = o.seed,
                        .input_axes = o.input_axes,
                        .output_axes = o.output_axes});
}

}  // namespace

InitializerPtr RandomNormal::make(const RandomOptions& o) {
  return std::make_shared<Drawn>(
      o.seed, [](const Shape&) { return 1.0; },
      [=](Random& r, double, std::span<double> numbers) {
        for (double& x : numbers) x = o.mean + o.stddev * r.normal();
      });
}
InitializerPtr TruncatedNormal::make(const RandomOptions& o) {
  return std::make_shared<Drawn>(
      o.seed, [](const Shape&) { return 1.0; },
      [=](Random& r, double, std::span<double> numbers) {
        for (double& x : numbers) x = o.mean + o.stddev * r.truncated_normal();
      });
}
InitializerPtr RandomUniform::make(const UniformOptions& o) {
  return std::make_shared<Uniform>(o.seed,
                                   [=](const Shape&) { return Line{0, (o.maxval - o.minval) * 0x1p-24, o.minval}; });
}
InitializerPtr VarianceScaling::make(const VarianceScalingOptions& o) {
  check(std::isfinite(o.scale) && o.scale > 0, ErrorKind::value, about.name, "scale = ", o.scale,
        " - expected a finite number above 0 - set scale.");
  check_one_of(about.name, "mode", o.mode, {"fan_in", "fan_out", "fan_avg"});
  check_one_of(about.name, "distribution", o.distribution,
               {"truncated_normal", "untruncated_normal", "uniform", "normal"});
  VarianceScalingOptions options = o;
  if (o.distribution == "normal") options.distribution = "truncated_normal";  // as in Keras
  return scaled(about.name, options);
}
InitializerPtr GlorotUniform::make(const ScaledOptions& options) {
  return scaled(about.name, options, 1, "fan_avg", "uniform");
}
InitializerPtr GlorotNormal::make(const ScaledOptions& o) {
  return scaled(about.name, o, 1, "fan_avg", "truncated_normal");
}
InitializerPtr HeUniform::make(const ScaledOptions& options) {
  return scaled(about.name, options, 2, "fan_in", "uniform");
}
InitializerPtr HeNormal::make(const ScaledOptions& options) {
  return scaled(about.name, options, 2, "fan_in", "truncated_normal");
}
InitializerPtr LecunUniform::make(const ScaledOptions& options) {
  return scaled(about.name, options, 1, "fan_in", "uniform");
}
InitializerPtr LecunNormal::make(const ScaledOptions& o) {
  return scaled(about.name, o, 1, "fan_in", "truncated_normal");
}

}  // namespace etude::initializers
