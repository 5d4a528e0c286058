#include "recurrent_kinds.hpp"

#include <cmath>

namespace etude::testing {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class Options> Options options_of(const Wish& wish) {
  Options options;
  options.units = wish.units;
  options.use_bias = wish.use_bias;
  options.bias_initializer = initializers::random_normal();
  options.dropout = wish.dropout;
  options.recurrent_dropout = wish.recurrent_dropout;
  options.seed = wish.seed;
  options.return_sequences = wish.return_sequences;
  options.return_state = wish.return_state;
  options.go_backwards = wish.go_backwards;
  options.stateful = wish.stateful;
  options.zero_output_for_mask = wish.zero_output_for_mask;
  options.dtype = "float64";
  return options;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Row vector · matrix + a row of the bias, which may be missing.
Vector affine(const Vector& row, const Tensor& matrix, const std::vector<Tensor>& weights, std::int64_t bias_row = 0) {
  const std::int64_t columns = matrix.shape()[1];
  Vector result;
  for (std::int64_t j = 0; j < columns; ++j) {
    double sum = 0;
    if (weights.size() > 2 && (bias_row + 1) * columns <= weights[2].size())
      sum = weights[2].at(bias_row * columns + j);
    for (std::size_t i = 0; i < row.size(); ++i) sum += row[i] * matrix.at(static_cast<std::int64_t>(i) * columns + j);
    result.push_back(sum);
  }
  return result;
}
constexpr std::int64_t no_bias = 1 << 20;

void lstm_step(std::vector<Vector>& state, const Vector& x, const std::vector<Tensor>& w) {
  const Vector a = affine(x, w[0], w), b = affine(state[0], w[1], w, no_bias);
  const std::size_t units = state[0].size();
  for (std::size_t u = 0; u < units; ++u) {
    const auto gate = [&](std::size_t which) { return a[which * units + u] + b[which * units + u]; };
    double& c = state[1][u];
    c = sigmoid(gate(1)) * c + sigmoid(gate(0)) * std::tanh(gate(2));
    state[0][u] = sigmoid(gate(3)) * std::tanh(c);
  }
}

void gru_step(std::vector<Vector>& state, const Vector& x, const std::vector<Tensor>& w) {
  const Vector a = affine(x, w[0], w), b = affine(state[0], w[1], w, 1);
  const std::size_t units = state[0].size();
  for (std::size_t u = 0; u < units; ++u) {
    const double z = sigmoid(a[u] + b[u]), r = sigmoid(a[units + u] + b[units + u]);
    state[0][u] = z * state[0][u] + (1 - z) * std::tanh(a[2 * units + u] + r * b[2 * units + u]);
  }
}

void gru_before_step(std::vector<Vector>& state, const Vector& x, const std::vector<Tensor>& w) {
  const Vector a = affine(x, w[0], w), b = affine(state[0], w[1], w, no_bias);
  const std::size_t units = state[0].size();
  Vector reset;
  for (std::size_t u = 0; u < units; ++u) reset.push_back(sigmoid(a[units + u] + b[units + u]) * state[0][u]);
  const Vector c = affine(reset, w[1], w, no_bias);
  for (std::size_t u = 0; u < units; ++u) {
    const double z = sigmoid(a[u] + b[u]);
    state[0][u] = z * state[0][u] + (1 - z) * std::tanh(a[2 * units + u] + c[2 * units + u]);
  }
}

void simple_step(std::vector<Vector>& state, const Vector& x, const std::vector<Tensor>& w) {
  const Vector a = affine(x, w[0], w), b = affine(state[0], w[1], w, no_bias);
  for (std::size_t u = 0; u < a.size(); ++u) state[0][u] = std::tanh(a[u] + b[u]);
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"LSTM", 2, [](const Wish& wish) { return layers::lstm(options_of<LSTMOptions>(wish)); }, lstm_step},
      {"GRU", 1, [](const Wish& wish) { return layers::gru(options_of<GRUOptions>(wish)); }, gru_step},
      {"GRU, reset before", 1,
       [](const Wish& wish) {
         auto options = options_of<GRUOptions>(wish);
         options.reset_after = false;
         return layers::gru(options);
       },
       gru_before_step},
      {"SimpleRNN", 1, [](const Wish& wish) { return layers::simple_rnn(options_of<SimpleRNNOptions>(wish)); },
       simple_step}};
  return all;
}

Tensor reference(const Kind& kind, const std::vector<Tensor>& weights, const Tensor& x, bool backwards) {
  const std::int64_t batch = x.shape()[0], steps = x.shape()[1], features = x.shape()[2], units = weights[1].shape()[0];
  Tensor out({batch, steps, units}, DType::float64);
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<Vector> state(kind.states, Vector(at(units)));
    for (std::int64_t s = 0; s < steps; ++s) {
      const std::int64_t t = backwards ? steps - 1 - s : s;
      Vector now;
      for (std::int64_t f = 0; f < features; ++f) now.push_back(x.at((b * steps + t) * features + f));
      kind.step(state, now, weights);
      for (std::int64_t u = 0; u < units; ++u) out.data<double>()[at((b * steps + s) * units + u)] = state[0][at(u)];
    }
  }
  return out;
}

}  // namespace etude::testing
