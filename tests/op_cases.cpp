#include "op_cases.hpp"

#include <set>
#include <utility>

#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/pooling.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "op_entries.hpp"

namespace etude::testing {
namespace {

template <std::size_t... I> std::vector<OpEntry> entries(std::index_sequence<I...>) {
  return {entry(std::variant_alternative_t<I, OpVariant>{})...};
}

double middle_of_eighths(std::int64_t count) { return static_cast<double>(count / 2); }

}  // namespace

std::vector<Tensor> OpCase::draw(std::uint64_t seed, DType floats) const {
  Random random = draws(seed);
  std::vector<Tensor> tensors;
  for (const Argument& argument : arguments) {
    const DType dtype = is_floating(argument.dtype) ? floats : argument.dtype;
    if (argument.numbers == Argument::Numbers::between) {
      tensors.push_back(random_tensor(random, argument.shape, dtype, argument.low, argument.high));
      continue;
    }
    Tensor tensor(argument.shape, DType::float64);
    const auto data = tensor.data<double>();
    // 1/16 off the eighths for the first argument, 1/32 for the second: never equal, and never integers.
    const double shift = tensors.empty() ? 0.5 : 0.25;
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = (static_cast<double>(i) - middle_of_eighths(tensor.size()) + shift) / 8;
    for (std::size_t left = data.size(); left > 1; --left)
      std::swap(data[left - 1], data[random.below(static_cast<std::uint32_t>(left))]);
    tensors.push_back(tensor.astype(dtype));
  }
  return tensors;
}

const std::vector<OpEntry>& op_table() {
  static const std::vector<OpEntry> table = entries(std::make_index_sequence<std::variant_size_v<OpVariant>>{});
  return table;
}

const std::vector<OpCase>& composites() {
  const Window window{.extent = {3, 2}}, pool{.extent = {2, 2}, .strides = {2, 2}};
  static const std::vector<OpCase> cases{
      {"a convolution, pooled after bias and relu",
       {number({2, 6, 6, 1}), number({3, 2, 1, 2}), number({2})},
       [=](Values x) { return ops::max_pool(ops::relu(ops::convolution(x[0], x[1], window) + x[2]), pool); }},
      {"a convolution of a pooled one, pooled",
       {number({1, 7, 8, 2}), number({3, 2, 2, 3}), number({3, 2, 3, 2})},
       [=](Values x) {
         const Value y =
             ops::max_pool(ops::convolution(ops::sin(x[0]), x[1], {.extent = {3, 2}, .before = {1, 1}}), pool);
         return ops::max_pool(ops::convolution(y, x[2], {.extent = {3, 2}, .after = {2, 1}}), pool);
       }},
      {"greater",
       {spaced({4}), spaced({4})},
       [](Values x) { return ops::where(ops::greater(x[0], x[1]), x[0], x[1]); }},
      {"greater_equal",
       {spaced({4}), spaced({4})},
       [](Values x) { return ops::where(ops::greater_equal(x[0], x[1]), x[0], x[1]); }},
      {"clip", {spaced({2, 9})}, [](Values x) { return ops::clip(x[0], -0.5, 0.5); }},
      {"divide_no_nan", {number({2, 3}), spaced({3})}, front(ops::divide_no_nan)},
      {"divide_no_nan by zero", {number({2, 3})}, [](Values x) { return ops::divide_no_nan(x[0], x[0] * 0.0); }},
      {"mean", {number({2, 3, 2})}, [](Values x) { return ops::mean(x[0], {0, 2}); }},
      {"expand_dims", {number({2, 3})}, [](Values x) { return ops::expand_dims(x[0], 1); }},
      {"squeeze", {number({2, 1, 3})}, [](Values x) { return ops::squeeze(x[0], 1); }},
      {"sum_to", {number({4, 2, 3})}, [](Values x) { return ops::sum_to(x[0], {2, 1}); }},
      {"a product and itself from its last row to its first",
       {number({30, 2}), number({2, 40})},
       [](Values x) {
         const Value z = ops::matmul(x[0], x[1]);
         return z + ops::reverse(z, 0);
       }},
      {"parts of two joined tensors",
       {number({2, 3})},
       [](Values x) {
         const Value a = ops::tanh(x[0]), b = ops::exp(x[0]) * a;
         return ops::matmul(ops::concatenate({a, b}, -1), ops::concatenate({b, a, a}, -1), true, false);
       }},
      {"gates of one product",
       {number({3, 2}), number({2, 8})},
       [](Values x) {
         const std::vector<Value> gates = ops::split(ops::matmul(x[0], x[1]), 4, -1);
         return ops::sigmoid(gates[0]) * ops::tanh(gates[1]) + ops::sigmoid(gates[2]) * gates[3];
       }},
      {"log_softmax", {spaced({2, 3})}, front(ops::log_softmax)},
      {"sigmoid_crossentropy", {number({2, 3}), number({2, 3})}, front(ops::sigmoid_crossentropy)},
      {"dropout",
       {number({4, 5})},
       [](Values x) { return ops::dropout(x[0], 0.4, 1, 2, Graph::current().constant(3, DType::int32)); }},
      {"rows made even",
       {number({3, 2, 5}), number({5})},
       [](Values x) {
         const Value centered = x[0] - ops::mean(x[0], {-1}, true);
         return centered / ops::sqrt(ops::mean(ops::square(centered), {-1}, true) + 0.1) * x[1];
       }},
      {"rows of two axes",
       {spaced({2, 3, 4})},
       [](Values x) { return ops::exp(x[0] - ops::max(x[0], {1, 2}, true)) * ops::sum(x[0], {2}, true); }},
      {"what rows sum to, of a row",
       {number({4, 4})},
       [](Values x) { return x[0] * ops::sum(x[0], {1}) + ops::sum(x[0], {1}, true); }},
      {"x used thrice", {number({3})}, [](Values x) { return x[0] * ops::exp(x[0]) + ops::sin(x[0]); }},
      {"numbers beside Values",
       {{{3}, Numbers::between, 0.5, 2}},
       [](Values x) { return (1 - 2 * x[0]) / 3 + (4 / x[0] - 5) * 6; }},
  };
  return cases;
}

namespace {

template <class Wanted> std::vector<OpCase> cases_of(Wanted wanted) {
  std::vector<OpCase> cases;
  for (const OpEntry& entry : op_table())
    if (wanted(entry))
      for (OpCase one : entry.cases) {
        one.name = std::string(entry.name) + ", " + one.name;
        cases.push_back(std::move(one));
      }
  cases.insert(cases.end(), composites().begin(), composites().end());
  return cases;
}

}  // namespace

std::vector<OpCase> all_cases() {
  return cases_of([](const OpEntry&) { return true; });
}

std::vector<OpCase> cases_without_elements() {
  std::vector<OpCase> result;
  const auto add = [&](const OpCase& one, auto is_empty) {
    OpCase changed = one;
    for (std::size_t i = 0; i < changed.arguments.size(); ++i) {
      Shape& shape = changed.arguments[i].shape;
      for (std::ptrdiff_t axis = 0; axis < static_cast<std::ptrdiff_t>(shape.rank()); ++axis)
        if (is_empty(i, axis, shape[axis])) shape[axis] = 0;
      changed.name += ' ' + shape.to_string();
    }
    result.push_back(std::move(changed));
  };
  for (const OpCase& one : all_cases()) {
    std::set<std::int64_t> extents;
    for (std::size_t i = 0; i < one.arguments.size(); ++i) {
      const Shape& shape = one.arguments[i].shape;
      extents.insert(shape.begin(), shape.end());
      for (std::ptrdiff_t axis = 0; axis < static_cast<std::ptrdiff_t>(shape.rank()); ++axis)
        add(one, [=](std::size_t argument, std::ptrdiff_t at, std::int64_t) { return argument == i && at == axis; });
    }
    for (const std::int64_t extent : extents)
      add(one, [=](std::size_t, std::ptrdiff_t, std::int64_t here) { return here == extent; });
  }
  return result;
}

std::vector<OpCase> differentiable_cases() {
  return cases_of([](const OpEntry& entry) { return entry.gradient == Gradient::passes; });
}

}  // namespace etude::testing
