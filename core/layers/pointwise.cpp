#include "etude/layers/pointwise.hpp"

#include "etude/base/error.hpp"
#include "etude/base/random.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"

namespace etude {

ActivationLayer::ActivationLayer(ActivationOptions options)
    : Layer("Activation", options), activation_(std::move(options.activation)) {
  if (!activation_.name().empty()) activations::get(activation_.name());
}

Value ActivationLayer::call(Value x, bool) { return activation_(x); }

Dropout::Dropout(DropoutOptions options)
    : Layer("Dropout", options),
      rate_(options.rate),
      key_{options.seed ? static_cast<std::uint64_t>(*options.seed) : random_seed(),
           options.seed ? 0 : next_random_stream()} {
  check(rate_ >= 0 && rate_ <= 1, ErrorKind::value, where(), "rate = ", rate_,
        " - expected a number from 0 to 1 - set the rate.");
  calls_ = add_state("calls", Tensor({}, DType::int32));
}

Value Dropout::call(Value x, bool training) {
  if (!training || rate_ == 0) return x;
  const Value calls = Graph::current().read(calls_);
  Graph::current().assign(calls_, calls + 1);
  return ops::dropout(x, rate_, key_.seed, key_.stream, calls);
}

Rescaling::Rescaling(RescalingOptions options)
    : Layer("Rescaling", options), scale_(options.scale), offset_(options.offset) {}

Value Rescaling::call(Value x, bool) { return ops::cast(x, compute_dtype()) * scale_ + offset_; }

}  // namespace etude
