#include "etude/layers/simple_rnn.hpp"

#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"

namespace etude {

SimpleRNN::SimpleRNN(const SimpleRNNOptions& options)
    : Recurrent(about.name, recurrent_options(options), 1), activation_(options.activation) {
  describe({class_entry<SimpleRNN>, options});
  check_known(activation_);
}

Recurrent::State SimpleRNN::step(const Step& now) const {
  return {activation_(now.x + ops::matmul(now.h, now.weights[0]))};
}

std::shared_ptr<Recurrent> SimpleRNN::copy(bool go_backwards, const std::string& name) const {
  return copy_of<SimpleRNN>(go_backwards, name);
}

}  // namespace etude
