#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "etude/base/error.hpp"
#include "etude/initializers/detail/one_of.hpp"
#include "etude/initializers/initializer.hpp"

// Initializers of matrices and kernels that are not drawn.
namespace etude::initializers {
namespace {

class IdentityInitializer : public Initializer {
 public:
  explicit IdentityInitializer(double gain) : gain_(gain) {}
  Tensor operator()(const Shape& shape, DType dtype) override {
    check(shape.rank() == 2, ErrorKind::shape, "Identity", "shape ", shape,
          " - expected a matrix - use another initializer.");
    Tensor tensor(shape, dtype);
    visit_dtype(dtype, [&]<class T>(T) {
      const auto data = tensor.data<T>();
      for (std::int64_t i = 0; i < std::min(shape[0], shape[1]); ++i)
        data[static_cast<std::size_t>(i * (shape[1] + 1))] = static_cast<T>(gain_);
    });
    return tensor;
  }

 private:
  double gain_;
};

/// A window that is a sum of cosines: factors[0] + factors[1] cos(x) + factors[2] cos(2x) + …, x from -pi to pi.
struct Window {
  std::string_view name;
  std::array<double, 5> factors;
};
/// Source: scipy/signal/windows/_windows.py.
constexpr Window windows[] = {{"hann", {0.5, 0.5}},
                              {"hamming", {0.54, 0.46}},
                              {"blackman", {0.42, 0.5, 0.08}},
                              {"blackmanharris", {0.35875, 0.48829, 0.14128, 0.01168}},
                              {"nuttall", {0.3635819, 0.4891775, 0.1365995, 0.0106411}},
                              {"flattop", {0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368}},
                              {"boxcar", {1}}};

class STFTInitializer : public Initializer {
 public:
  explicit STFTInitializer(const STFTOptions& options) : options_(options) {}

  Tensor operator()(const Shape& shape, DType dtype) override {
    check(shape.rank() == 3 && shape[1] == 1 && shape[2] > 1, ErrorKind::shape, "STFT", "shape ", shape,
          " - expected [frame, 1, frequencies] with two frequencies or more - use it for the kernel of a Conv1D on one "
          "channel.");
    const std::vector<double> window = windowed(shape[0]);
    const auto period = static_cast<double>(2 * (shape[2] - 1));
    std::vector<double> numbers;
    numbers.reserve(static_cast<std::size_t>(shape.size()));
    for (std::int64_t t = 0; t < shape[0]; ++t)
      for (std::int64_t k = 0; k < shape[2]; ++k) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(t) * static_cast<double>(k) / period;
        numbers.push_back((options_.side == "real" ? std::cos(angle) : std::sin(angle)) *
                          window[static_cast<std::size_t>(t)]);
      }
    return Tensor::from<double>(shape, numbers).astype(dtype);
  }

 private:
  std::vector<double> windowed(std::int64_t length) const {
    std::vector<double> result(static_cast<std::size_t>(length), 1.0);
    if (!options_.window) return result;
    const auto& factors = std::ranges::find(windows, std::string_view(*options_.window), &Window::name)->factors;
    const auto gaps = static_cast<double>(options_.periodic ? length : length - 1);
    double squares = 0, magnitudes = 0;
    for (std::size_t t = 0; t < result.size(); ++t) {
      const double angle = std::numbers::pi * (2 * static_cast<double>(t) / gaps - 1);
      if (length > 1) result[t] = 0;
      for (std::size_t k = 0; length > 1 && k < factors.size(); ++k)
        result[t] += factors[k] * std::cos(static_cast<double>(k) * angle);
      squares += result[t] * result[t];
      magnitudes += std::abs(result[t]);
    }
    if (options_.scaling)
      for (double& number : result) number /= *options_.scaling == "density" ? std::sqrt(squares) : magnitudes;
    return result;
  }

  STFTOptions options_;
};

}  // namespace

InitializerPtr Identity::make(const IdentityOptions& options) {
  return std::make_shared<IdentityInitializer>(options.gain);
}

InitializerPtr STFT::make(const STFTOptions& o) {
  check_one_of(about.name, "side", o.side, {"real", "imag"});
  if (o.window)
    check_one_of(about.name, "window", *o.window,
                 {"hann", "hamming", "blackman", "blackmanharris", "nuttall", "flattop", "boxcar"});
  if (o.scaling) check_one_of(about.name, "scaling", *o.scaling, {"density", "spectrum"});
  return std::make_shared<STFTInitializer>(o);
}

}  // namespace etude::initializers
