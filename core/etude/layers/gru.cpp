#include "etude/layers/gru.hpp"

#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

GRUCell::GRUCell(KernelCellOptions options, Activation activation, Activation recurrent_activation, bool reset_after)
    : KernelCell(about.name, std::move(options), 3),
      activation_(std::move(activation)),
      recurrent_activation_(std::move(recurrent_activation)),
      reset_after_(reset_after) {
  check_known(activation_);
  check_known(recurrent_activation_);
}

GRUCell::GRUCell(const GRUCellOptions& options)
    : GRUCell(kernel_cell_options(options, options.name), options.activation, options.recurrent_activation,
              options.reset_after) {
  describe({class_entry<GRUCell>, options});
}

Shape GRUCell::bias_shape() const { return reset_after_ ? Shape{2, 3 * units()} : Shape{3 * units()}; }

Value GRUCell::input_bias() const { return reset_after_ ? ops::squeeze(ops::slice(bias(), 0, 0, 1), 0) : bias(); }

KernelCell::Advance GRUCell::advance() const {
  const Value kernel = recurrent_kernel();
  const auto next = [this](Value z, Value g, Value h) { return std::vector<Value>{z * h + (1 - z) * activation_(g)}; };
  if (!reset_after_) {
    const Value of_gates = ops::slice(kernel, 1, 0, 2 * units()),
                of_candidate = ops::slice(kernel, 1, 2 * units(), units());
    return [=, this](Value inputs, Value dropped, const std::vector<Value>& states) {
      const std::vector<Value> x = ops::split(inputs, 3, -1), h = ops::split(ops::matmul(dropped, of_gates), 2, -1);
      const Value z = recurrent_activation_(x[0] + h[0]), r = recurrent_activation_(x[1] + h[1]);
      return next(z, x[2] + ops::matmul(r * dropped, of_candidate), states[0]);
    };
  }
  const Value d = bias() ? ops::squeeze(ops::slice(bias(), 0, 1, 1), 0) : Value{};
  return [=, this](Value inputs, Value dropped, const std::vector<Value>& states) {
    const Value product = ops::matmul(dropped, kernel);
    const std::vector<Value> x = ops::split(inputs, 3, -1), h = ops::split(d ? product + d : product, 3, -1);
    const Value z = recurrent_activation_(x[0] + h[0]), r = recurrent_activation_(x[1] + h[1]);
    return next(z, x[2] + r * h[2], states[0]);
  };
}

GRU::GRU(const GRUOptions& options)
    : Recurrent(about.name, recurrent_options(options),
                std::make_shared<GRUCell>(kernel_cell_options(options), options.activation,
                                          options.recurrent_activation, options.reset_after)) {
  describe({class_entry<GRU>, options});
}

std::shared_ptr<Recurrent> GRU::copy(bool go_backwards, const std::string& name) const {
  return copy_of<GRU>(go_backwards, name);
}

}  // namespace etude
