#include "etude/initializers/initializer.hpp"

#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "etude/base/catalogue.hpp"
#include "etude/base/error.hpp"

namespace etude::initializers {
namespace {

/// Fills a tensor with draws, one after the other.
class Drawn : public Initializer {
 public:
  /// What each draw depends on: the stream, and the shape for its fans.
  using Draw = std::function<double(Random&, double scale)>;
  using Scale = std::function<double(const Shape&)>;

  Drawn(std::optional<std::int64_t> seed, Scale scale, Draw draw)
      : seed_(seed), scale_(std::move(scale)), draw_(std::move(draw)) {}

  Tensor operator()(const Shape& shape, DType dtype) override {
    // A seed of its own gives the same values at each call, as in Keras; the global one a new stream.
    Random random(seed_ ? static_cast<std::uint64_t>(*seed_) : random_seed(), RandomStream::initializer,
                  seed_ ? 0 : next_random_stream());
    const double scale = scale_(shape);
    Tensor tensor(shape, dtype);
    visit_dtype(dtype, [&]<class T>(T) {
      for (T& element : tensor.data<T>()) element = static_cast<T>(draw_(random, scale));
    });
    return tensor;
  }

 private:
  std::optional<std::int64_t> seed_;
  Scale scale_;
  Draw draw_;
};

class Constant : public Initializer {
 public:
  explicit Constant(double value) : value_(value) {}
  Tensor operator()(const Shape& shape, DType dtype) override {
    Tensor tensor(shape, dtype);
    visit_dtype(dtype, [&]<class T>(T) {
      for (T& element : tensor.data<T>()) element = static_cast<T>(value_);
    });
    return tensor;
  }

 private:
  double value_;
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

double fan_mean(const Shape& shape) { return (fans_of(shape).in + fans_of(shape).out) / 2; }
double fan_in(const Shape& shape) { return fans_of(shape).in; }

double uniform_draw(Random& random, double limit) { return (2 * static_cast<double>(random.uniform()) - 1) * limit; }
double normal_draw(Random& random, double stddev) { return random.truncated_normal() * stddev; }

InitializerPtr scaled_uniform(SeedOptions options, double scale, double (*fan)(const Shape&)) {
  return std::make_shared<Drawn>(
      options.seed, [=](const Shape& shape) { return std::sqrt(3 * scale / std::max(fan(shape), 1.0)); }, uniform_draw);
}

InitializerPtr scaled_normal(SeedOptions options, double scale, double (*fan)(const Shape&)) {
  // Cutting at two sigma leaves 0.8796… of the standard deviation.
  constexpr double cut = 0.87962566103423978;
  return std::make_shared<Drawn>(
      options.seed, [=](const Shape& shape) { return std::sqrt(scale / std::max(fan(shape), 1.0)) / cut; },
      normal_draw);
}

/// Gram and Schmidt's way from rows of normal draws to rows of length 1 at right angles. Done twice, for once leaves
/// what rounding made of it.
void make_orthonormal(std::vector<std::vector<double>>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < i; ++j) {
        const double along = std::inner_product(rows[i].begin(), rows[i].end(), rows[j].begin(), 0.0);
        for (std::size_t k = 0; k < rows[i].size(); ++k) rows[i][k] -= along * rows[j][k];
      }
      const double length = std::sqrt(std::inner_product(rows[i].begin(), rows[i].end(), rows[i].begin(), 0.0));
      for (double& x : rows[i]) x /= length;
    }
}

class Orthogonal : public Initializer {
 public:
  explicit Orthogonal(OrthogonalOptions options) : options_(options) {}

  Tensor operator()(const Shape& shape, DType dtype) override {
    check(shape.rank() >= 2, ErrorKind::shape, "orthogonal", "shape ", shape,
          " - expected a matrix, or more axes - choose another initializer.");
    const auto columns = static_cast<std::size_t>(shape[-1]), count = static_cast<std::size_t>(shape.size()) / columns;
    Random random(options_.seed ? static_cast<std::uint64_t>(*options_.seed) : random_seed(), RandomStream::initializer,
                  options_.seed ? 0 : next_random_stream());
    std::vector<std::vector<double>> lines(std::min(count, columns));
    for (auto& line : lines)
      for (std::size_t i = 0; i < std::max(count, columns); ++i) line.push_back(random.normal());
    make_orthonormal(lines);
    Tensor tensor(shape, dtype);
    visit_dtype(dtype, [&]<class T>(T) {
      for (std::size_t i = 0; i < count * columns; ++i) {
        const std::size_t row = i / columns, column = i % columns;
        const double x = count < columns ? lines[row][column] : lines[column][row];
        tensor.data<T>()[i] = static_cast<T>(options_.gain * x);
      }
    });
    return tensor;
  }

 private:
  OrthogonalOptions options_;
};

}  // namespace

InitializerPtr orthogonal(OrthogonalOptions options) {
  return described("Orthogonal", options, std::make_shared<Orthogonal>(options));
}
InitializerPtr zeros() { return described("Zeros", NoOptions{}, constant({0})); }
InitializerPtr ones() { return described("Ones", NoOptions{}, constant({1})); }
InitializerPtr constant(ConstantOptions options) {
  return described("Constant", options, std::make_shared<Constant>(options.value));
}
InitializerPtr random_normal(RandomOptions o) {
  return described(
      "RandomNormal", o,
      std::make_shared<Drawn>(
          o.seed, [](const Shape&) { return 1.0; }, [=](Random& r, double) { return o.mean + o.stddev * r.normal(); }));
}
InitializerPtr truncated_normal(RandomOptions o) {
  return described("TruncatedNormal", o,
                   std::make_shared<Drawn>(
                       o.seed, [](const Shape&) { return 1.0; },
                       [=](Random& r, double) { return o.mean + o.stddev * r.truncated_normal(); }));
}
InitializerPtr random_uniform(UniformOptions o) {
  return described(
      "RandomUniform", o,
      std::make_shared<Drawn>(
          o.seed, [](const Shape&) { return 1.0; },
          [=](Random& r, double) { return o.minval + (o.maxval - o.minval) * static_cast<double>(r.uniform()); }));
}
InitializerPtr glorot_uniform(SeedOptions options) {
  return described("GlorotUniform", options, scaled_uniform(options, 1, fan_mean));
}
InitializerPtr glorot_normal(SeedOptions options) {
  return described("GlorotNormal", options, scaled_normal(options, 1, fan_mean));
}
InitializerPtr he_uniform(SeedOptions options) {
  return described("HeUniform", options, scaled_uniform(options, 2, fan_in));
}
InitializerPtr he_normal(SeedOptions options) {
  return described("HeNormal", options, scaled_normal(options, 2, fan_in));
}
InitializerPtr lecun_uniform(SeedOptions options) {
  return described("LecunUniform", options, scaled_uniform(options, 1, fan_in));
}
InitializerPtr lecun_normal(SeedOptions options) {
  return described("LecunNormal", options, scaled_normal(options, 1, fan_in));
}

InitializerPtr get(const Choice<Initializer>& choice) {
  static const Catalogue<InitializerPtr (*)()> catalogue("initializer",
                                                         {
                                                             {"zeros", [] { return zeros(); }},
                                                             {"ones", [] { return ones(); }},
                                                             {"constant", [] { return constant(); }},
                                                             {"random_normal", [] { return random_normal(); }},
                                                             {"truncated_normal", [] { return truncated_normal(); }},
                                                             {"random_uniform", [] { return random_uniform(); }},
                                                             {"glorot_uniform", [] { return glorot_uniform(); }},
                                                             {"glorot_normal", [] { return glorot_normal(); }},
                                                             {"he_uniform", [] { return he_uniform(); }},
                                                             {"he_normal", [] { return he_normal(); }},
                                                             {"lecun_uniform", [] { return lecun_uniform(); }},
                                                             {"orthogonal", [] { return orthogonal(); }},
                                                             {"lecun_normal", [] { return lecun_normal(); }},
                                                         });
  return choice.object() ? choice.object() : catalogue.find(choice.name())();
}

}  // namespace etude::initializers
