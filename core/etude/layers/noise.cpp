#include "etude/layers/noise.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"

namespace etude {

RandomKey RandomLayer::key_for(const std::optional<std::int64_t>& seed) {
  if (seed) return {static_cast<std::uint64_t>(*seed), 0};
  return {random_seed(), next_random_stream()};
}

Value RandomLayer::next_call() {
  const Value calls = Graph::current().read(calls_);
  Graph::current().assign(calls_, calls + 1);
  return calls;
}

Dropout::Dropout(DropoutOptions options) : RandomLayer(class_entry<Dropout>, options), rate_(options.rate) {
  check(rate_ >= 0 && rate_ <= 1, ErrorKind::value, where(), "rate = ", rate_,
        " - expected a number from 0 to 1 - set the rate.");
}

Value Dropout::call(Value x, bool training) {
  if (!training || rate_ == 0) return x;
  return ops::dropout(x, rate_, key().seed, key().stream, next_call());
}

GaussianNoise::GaussianNoise(GaussianNoiseOptions options)
    : RandomLayer(class_entry<GaussianNoise>, options), stddev_(options.stddev) {
  check(stddev_ >= 0, ErrorKind::value, where(), "stddev = ", stddev_,
        " - expected a number of 0 or more - set stddev.");
}

Value GaussianNoise::call(Value x, bool training) {
  if (!training || stddev_ == 0) return x;
  return x + ops::normal(x.shape(), x.dtype(), key().seed, key().stream, next_call()) * stddev_;
}

}  // namespace etude
