#include "etude/layers/simple_rnn.hpp"

#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"

namespace etude {

SimpleRNNCell::SimpleRNNCell(KernelCellOptions options, Activation activation)
    : KernelCell(about.name, std::move(options), 1), activation_(std::move(activation)) {
  check_known(activation_);
}

SimpleRNNCell::SimpleRNNCell(const SimpleRNNCellOptions& options)
    : SimpleRNNCell(kernel_cell_options(options, options.name), options.activation) {
  describe({class_entry<SimpleRNNCell>, options});
}

KernelCell::Advance SimpleRNNCell::advance() const {
  return [this, kernel = recurrent_kernel()](Value x, Value h, const std::vector<Value>&) {
    return std::vector<Value>{activation_(x + ops::matmul(h, kernel))};
  };
}

SimpleRNN::SimpleRNN(const SimpleRNNOptions& options)
    : Recurrent(about.name, recurrent_options(options),
                std::make_shared<SimpleRNNCell>(kernel_cell_options(options), options.activation)) {
  describe({class_entry<SimpleRNN>, options});
}

std::shared_ptr<Recurrent> SimpleRNN::copy(bool go_backwards, const std::string& name) const {
  return copy_of<SimpleRNN>(go_backwards, name);
}

}  // namespace etude
