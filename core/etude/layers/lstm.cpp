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

KernelCellOptions with_forget_bias(KernelCellOptions options, bool unit_forget_bias) {
  if (unit_forget_bias) options.bias_initializer = std::make_shared<ForgetBias>(options.bias_initializer);
  return options;
}

}  // namespace

LSTMCell::LSTMCell(KernelCellOptions options, Activation activation, Activation recurrent_activation,
                   bool unit_forget_bias, std::string_view class_name)
    : KernelCell(class_name, with_forget_bias(std::move(options), unit_forget_bias), 4, {"h", "c"}),
      activation_(std::move(activation)),
      recurrent_activation_(std::move(recurrent_activation)) {
  check_known(activation_);
  check_known(recurrent_activation_);
}

LSTMCell::LSTMCell(const LSTMCellOptions& options)
    : LSTMCell(kernel_cell_options(options, options.name), options.activation, options.recurrent_activation,
               options.unit_forget_bias) {
  describe({class_entry<LSTMCell>, options});
}

Value LSTMCell::recur(Value h, Value recurrent_kernel) const { return ops::matmul(h, recurrent_kernel); }

KernelCell::Advance LSTMCell::advance() const {
  return [this, kernel = recurrent_kernel()](Value x, Value h, const std::vector<Value>& states) {
    const std::vector<Value> gates = ops::split(x + recur(h, kernel), 4, gate_axis());
    const Value i = recurrent_activation_(gates[0]), f = recurrent_activation_(gates[1]);
    const Value g = activation_(gates[2]), o = recurrent_activation_(gates[3]);
    const Value c = f * states[1] + i * g;
    return std::vector<Value>{o * activation_(c), c};
  };
}

LSTM::LSTM(const LSTMOptions& options)
    : Recurrent(about.name, recurrent_options(options),
                std::make_shared<LSTMCell>(kernel_cell_options(options), options.activation,
                                           options.recurrent_activation, options.unit_forget_bias)) {
  describe({class_entry<LSTM>, options});
}

std::shared_ptr<Recurrent> LSTM::copy(bool go_backwards, const std::string& name) const {
  return copy_of<LSTM>(go_backwards, name);
}

}  // namespace etude
