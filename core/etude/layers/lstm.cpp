#include "etude/layers/lstm.hpp"

#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

/// The bias's own initializer, except ones for the forget gate: the state is kept at first.
class ForgetBias : public Initializer {
 public:
  explicit ForgetBias(Choice<Initializer> rest) : rest_(std::move(rest)) {}
  Tensor operator()(const Shape& shape, DType dtype) override {
    Tensor bias = (*initializers::get(rest_))(shape, dtype);
    const auto units = static_cast<std::size_t>(shape[0] / 4);
    visit_dtype(dtype, [&]<class T>(T) {
      for (std::size_t i = units; i < 2 * units; ++i) bias.data<T>()[i] = T(1);
    });
    return bias;
  }
  void skip() override { initializers::get(rest_)->skip(); }

 private:
  Choice<Initializer> rest_;
};

RecurrentOptions shared(const LSTMOptions& options) {
  RecurrentOptions result = recurrent_options(options);
  if (options.unit_forget_bias) result.bias_initializer = std::make_shared<ForgetBias>(options.bias_initializer);
  return result;
}

}  // namespace

LSTM::LSTM(const LSTMOptions& options)
    : Recurrent(about.name, shared(options), 4, {"h", "c"}),
      activation_(options.activation),
      recurrent_activation_(options.recurrent_activation) {
  describe({class_entry<LSTM>, options});
  check_known(activation_);
  check_known(recurrent_activation_);
}

Recurrent::State LSTM::step(const Step& now) const {
  const std::vector<Value> gates = ops::split(now.x + ops::matmul(now.h, now.weights[0]), 4);
  const Value i = recurrent_activation_(gates[0]), f = recurrent_activation_(gates[1]);
  const Value g = activation_(gates[2]), o = recurrent_activation_(gates[3]);
  const Value c = f * now.state[1] + i * g;
  return {o * activation_(c), c};
}

std::shared_ptr<Recurrent> LSTM::copy(bool go_backwards, const std::string& name) const {
  return copy_of<LSTM>(go_backwards, name);
}

}  // namespace etude
