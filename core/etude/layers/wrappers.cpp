#include "etude/layers/wrappers.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Bidirectional::Bidirectional(BidirectionalOptions options)
    : Layer(class_entry<Bidirectional>, std::move(options)), options_(described_options<BidirectionalOptions>()) {
  const auto recurrent = [&](const LayerPtr& layer, const char* option) {
    const auto result = std::dynamic_pointer_cast<Recurrent>(layer);
    check(result != nullptr, ErrorKind::value, where(), option, " = ", layer ? layer->class_name() : "no layer",
          " - expected a recurrent layer, such as LSTM - set ", option, '.');
    return result;
  };
  const auto first = recurrent(options_.layer, "layer");
  forward_ = first->copy(first->goes_backwards(), "forward_" + first->name());
  const auto second = options_.backward_layer ? recurrent(options_.backward_layer, "backward_layer") : first;
  backward_ =
      second->copy(second == first ? !first->goes_backwards() : second->goes_backwards(), "backward_" + second->name());
  check(forward_->goes_backwards() != backward_->goes_backwards() &&
            forward_->returns_sequences() == backward_->returns_sequences() &&
            forward_->returns_state() == backward_->returns_state(),
        ErrorKind::value, where(), "backward_layer = ", second->name(), " for layer = ", first->name(),
        " - expected another go_backwards, the same return_sequences and return_state - set its options.");
  forward_->set_own_trainable(first->trainable());
  backward_->set_own_trainable(second->trainable());
  // Keras replaces the option of both layers, too.
  for (const auto& layer : {forward_, backward_}) layer->set_zero_output_for_mask(layer->returns_sequences());
  constexpr std::string_view modes[] = {"concat", "sum", "mul", "ave"};
  check(!options_.merge_mode || std::ranges::find(modes, *options_.merge_mode) != std::end(modes), ErrorKind::value,
        where(), "merge_mode = \"", options_.merge_mode.value_or(""),
        "\" - expected \"concat\", \"sum\", \"mul\", \"ave\" or none - choose one.");
}

std::vector<LayerPtr> Bidirectional::layers() const { return {forward_, backward_}; }

void Bidirectional::reset_state() {
  forward_->reset_state();
  backward_->reset_state();
}

Value Bidirectional::call(Value x, bool training) { return call_with({x}, training); }

Outputs Bidirectional::call_with(const std::vector<Value>& inputs, bool training) {
  check(inputs.size() % 2 == 1, ErrorKind::value, where(), inputs.size(),
        " inputs - expected x, or x and the initial states of both layers - pass all of them, or none.");
  const auto half = inputs.begin() + 1 + static_cast<std::ptrdiff_t>(inputs.size() / 2);
  std::vector<Value> of_forward{inputs.front()}, of_backward{inputs.front()};
  of_forward.insert(of_forward.end(), inputs.begin() + 1, half);
  of_backward.insert(of_backward.end(), half, inputs.end());
  const Outputs first = (*forward_)(of_forward, training), second = (*backward_)(of_backward, training);
  const Value a = first.front();
  const Value b = forward_->returns_sequences() ? ops::reverse(second.front(), 1) : second.front();
  Outputs outputs{a};
  if (!options_.merge_mode)
    outputs.push_back(b);
  else if (*options_.merge_mode == "concat")
    outputs = ops::concatenate({a, b}, -1);
  else if (*options_.merge_mode == "mul")
    outputs = a * b;
  else
    outputs = *options_.merge_mode == "ave" ? (a + b) * 0.5 : a + b;
  if (forward_->returns_sequences())
    for (Value& y : outputs) y = y.with_mask(inputs.front().mask());
  outputs.insert(outputs.end(), first.begin() + 1, first.end());
  outputs.insert(outputs.end(), second.begin() + 1, second.end());
  return outputs;
}

TimeDistributed::TimeDistributed(TimeDistributedOptions options)
    : Layer(class_entry<TimeDistributed>, options), layer_(options.layer) {
  check(layer_ != nullptr, ErrorKind::value, where(), "no layer - expected the layer of each step - set layer.");
  check_can_hold(*layer_);
}

Value TimeDistributed::call(Value x, bool training) {
  check(x.shape().rank() >= 2, ErrorKind::shape, where(), "input of shape ", x.shape(),
        " - expected [batch, steps, ..] - reshape the data.");
  const auto rows_of = [](const Shape& shape, std::size_t from, std::initializer_list<std::int64_t> front) {
    Shape result;
    for (const std::int64_t extent : front) result.append(extent);
    for (const std::int64_t extent : shape.slice(from, shape.rank())) result.append(extent);
    return result;
  };
  const std::int64_t batch = x.shape()[0], steps = x.shape()[1];
  Value all = ops::reshape(x, rows_of(x.shape(), 2, {batch * steps}));
  if (const Value mask = x.mask(); mask && mask.shape().rank() + 1 == x.shape().rank() && layer_->supports_masking())
    all = all.with_mask(ops::reshape(mask, rows_of(mask.shape(), 2, {batch * steps})));
  const Value y = (*layer_)(all, training);
  return ops::reshape(y, rows_of(y.shape(), 1, {batch, steps}));
}

}  // namespace etude
