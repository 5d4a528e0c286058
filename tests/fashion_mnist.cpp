#include "fashion_mnist.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "etude/data/idx.hpp"

namespace etude::fashion_mnist {
namespace {

Tensor read(const std::string& name) {
  const char* given = std::getenv("ETUDE_FASHION_MNIST");
  const std::string path = std::string(given ? given : "/usr/share/datasets/fashion-mnist") + '/' + name;
  return read_idx(std::filesystem::exists(path) ? path : path + ".gz");
}

}  // namespace

Tensor images(std::int64_t rows, DType dtype) {
  Tensor x = read("train-images-idx3-ubyte").rows(0, rows).reshape({rows, 784}).astype(dtype);
  const auto scale = [](auto elements) {
    for (auto& element : elements) element /= 255;
  };
  dtype == DType::float64 ? scale(x.data<double>()) : scale(x.data<float>());
  return x;
}

Tensor labels(std::int64_t rows) { return read("train-labels-idx1-ubyte").rows(0, rows).astype(DType::int32); }

}  // namespace etude::fashion_mnist
