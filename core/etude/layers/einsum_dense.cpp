#include "etude/layers/einsum_dense.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {

EinsumDense::EinsumDense(EinsumDenseOptions options)
    : Layer(class_entry<EinsumDense>, std::move(options)),
      options_(described_options<EinsumDenseOptions>()),
      equation_(einsum_equation(options_.equation, where())) {
  set_supports_masking(false);
  if (!options_.activation.name().empty()) activations::get(options_.activation.name());
  const auto of_result = [&](char axis) { return equation_.out.find(axis) != std::string::npos; };
  const std::string bias_axes = options_.bias_axes.value_or("");
  check(std::ranges::all_of(bias_axes, of_result), ErrorKind::value, where(), "bias_axes = \"", bias_axes, "\" of \"",
        options_.equation, "\" - expected axes of the result - set bias_axes.");
  set_activity_regularizer(options_.activity_regularizer);
  cast_integers();
}

void EinsumDense::build(const Shape& input_shape) {
  // Without "..." all axes have names. It stands before them or behind them.
  constexpr std::string_view ellipsis = "...";
  std::string in = equation_.a, out = equation_.out;
  const std::size_t at = in.find(ellipsis);
  const bool elides = at != std::string::npos, in_front = at == 0;
  const auto refuse = [&](const char* expected) {
    fail(ErrorKind::value, where(), "equation = \"", options_.equation, "\", output_shape = ", options_.output_shape,
         " for input of shape ", input_shape, " - expected ", expected, " - set equation and output_shape.");
  };
  if (elides != (out.find(ellipsis) != std::string::npos) || equation_.b.find(ellipsis) != std::string::npos ||
      (elides && (out.find(ellipsis) == 0) != in_front))
    refuse("\"...\" in inputs and results, at the same end");
  for (std::string* axes : {&in, &out})
    if (elides) axes->erase(in_front ? 0 : axes->size() - ellipsis.size(), ellipsis.size());
  if (input_shape.rank() < in.size() || (!elides && input_shape.rank() > in.size()))
    refuse("as many axes as inputs have");
  const std::size_t elided = input_shape.rank() - in.size();
  Shape result{input_shape[0]};
  if (in_front)
    for (std::size_t i = 1; i < elided; ++i) result.append(input_shape[static_cast<std::ptrdiff_t>(i)]);
  for (const std::int64_t extent : options_.output_shape) result.append(extent);
  if (!in_front)
    for (std::size_t i = in.size(); i < input_shape.rank(); ++i)
      result.append(input_shape[static_cast<std::ptrdiff_t>(i)]);
  if (result.rank() != out.size() + elided) refuse("an extent for each axis of the result but the batch");
  const auto extent_in = [&](const Shape& shape, const std::string& axes, char axis) {
    const std::size_t place = axes.find(axis);
    return place == std::string::npos ? -1 : shape[static_cast<std::ptrdiff_t>(place + (in_front ? elided : 0))];
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::int64_t& extent = result[static_cast<std::ptrdiff_t>(i + (in_front ? elided : 0))];
    const std::int64_t given = extent_in(input_shape, in, out[i]);
    if (extent == -1) extent = given;
    if (given >= 0 && extent != given) refuse("the extents of inputs where the result has their axes");
  }
  Shape kernel;
  for (const char axis : equation_.b) {
    const std::int64_t extent = std::max(extent_in(input_shape, in, axis), extent_in(result, out, axis));
    if (extent < 0) refuse("an extent for each axis of the kernel");
    kernel.append(extent);
  }
  kernel_ = add_weight({.name = "kernel",
                        .shape = kernel,
                        .initializer = options_.kernel_initializer,
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  const std::string bias_axes = options_.bias_axes.value_or("");
  if (bias_axes.empty()) return;
  Shape bias;
  for (const char axis : out.substr(out.find_first_of(bias_axes)))
    bias.append(bias_axes.find(axis) == std::string::npos ? 1 : extent_in(result, out, axis));
  for (std::size_t i = 0; elides && !in_front && i < elided; ++i) bias.append(1);
  bias_ = add_weight({.name = "bias",
                      .shape = bias,
                      .initializer = options_.bias_initializer,
                      .regularizer = options_.bias_regularizer,
                      .constraint = options_.bias_constraint});
}

Value EinsumDense::call(Value x, bool) {
  Value y = ops::einsum(options_.equation, x, value_of(kernel_));
  if (bias_) y = y + value_of(bias_);
  return options_.activation(y);
}

}  // namespace etude
