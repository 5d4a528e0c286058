#pragma once

/// Shared by the programs of the guide: training data, and the report of results.
#include <etude/etude.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace etude::guide {

/// `rows` points of 8 waves each, and a target that is not a linear function of them. The same numbers as in
/// samples.mjs.
inline std::pair<Tensor, Tensor> samples(std::int64_t rows) {
  Tensor x({rows, 8}), y({rows, 1});
  const auto inputs = x.data<float>(), targets = y.data<float>();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = static_cast<float>(std::sin(static_cast<double>(i) * 1.7) * std::cos(static_cast<double>(i) * 0.013));
  for (std::size_t row = 0; row < targets.size(); ++row) {
    const float* point = &inputs[8 * row];
    targets[row] = point[0] * point[1] + std::abs(point[2]) - 0.5F * point[3];
  }
  return {x, y};
}

/// The first images of Fashion-MNIST, [rows, 784], from 0 to 1.
inline Tensor images(std::int64_t rows) {
  const char* unpacked = std::getenv("ETUDE_FASHION_MNIST");
  const std::string folder = unpacked ? unpacked : "/usr/share/datasets/fashion-mnist";
  const Tensor bytes = read_idx(folder + "/train-images-idx3-ubyte" + (unpacked ? "" : ".gz")).rows(0, rows);
  Tensor images({rows, 784});
  for (std::size_t i = 0; i < images.data<float>().size(); ++i)
    images.data<float>()[i] = static_cast<float>(bytes.data<std::uint8_t>()[i]) / 255;
  return images;
}

/// Prints the results of the last epoch; ./dev test guide compares this line in both languages.
inline void report(const char* what, const History& history) {
  std::printf("%s:", what);
  for (const auto& [name, values] : history.history()) std::printf(" %s=%.5f", name.c_str(), values.back());
  std::printf("\n");
}

}  // namespace etude::guide
