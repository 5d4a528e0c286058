#include "etude/graph/detail/op.hpp"
#include "etude/ops/detail/scan.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "op_entries.hpp"

namespace etude::testing {

namespace {

/// The final carried Value of a loop, and its outputs of every step, in one Value.
Value all_of(const ops::ScanResult& result) {
  Value sum = ops::sum(result.carry.front());
  for (const Value& value : result.carry) sum = sum + ops::sum(ops::sin(value));
  for (const Value& value : result.outputs) sum = sum + ops::sum(ops::square(value) * value);
  return sum;
}

}  // namespace

template <> OpEntry entry(const op::Scan&) {
  using Steps = std::span<const Value>;
  const auto running_sum = [](bool reverse) {
    return [=](Values x) {
      return ops::scan([](Steps sum, Steps in) { return ops::ScanStep{{sum[0] + in[0]}, {sum[0] + in[0]}}; }, {x[0]},
                       {x[1]}, reverse)
          .outputs[0];
    };
  };
  const auto recurrent = [](Values x) {
    return ops::scan([&](Steps h, Steps in) { return ops::ScanStep{{ops::tanh(in[0] + ops::matmul(h[0], x[2]))}, {}}; },
                     {x[0]}, {x[1]})
        .carry[0];
  };
  const auto swapping = [](Values x) {
    return all_of(ops::scan(
        [](Steps carry, Steps in) {
          return ops::ScanStep{{carry[1], carry[0] * in[0]}, {carry[0], in[0], carry[1] + carry[0]}};
        },
        {x[0], x[0] * 0.5}, {x[1]}));
  };
  const auto gated = [](bool reverse) {
    return [=](Values x) {
      return all_of(ops::scan(
          [&](Steps carry, Steps in) {
            const auto gates = ops::split(in[0] + ops::matmul(carry[0], x[3]) + x[4], 4, -1);
            const Value c = ops::sigmoid(gates[1]) * carry[1] + ops::sigmoid(gates[0]) * ops::tanh(gates[2]);
            const Value h = ops::sigmoid(gates[3]) * ops::tanh(c);
            return ops::ScanStep{{h, c}, {h}};
          },
          {x[0], x[1]}, {x[2]}, reverse));
    };
  };
  const auto masked = [](Values x) {
    return all_of(
        ops::scan([](Steps carry,
                     Steps in) { return ops::ScanStep{{ops::where(in[1], carry[0] * in[0], carry[0])}, {carry[0]}}; },
                  {x[0]}, {x[1], x[2]}));
  };
  const auto nested = [](Values x) {
    return all_of(ops::scan(
        [&](Steps outer, Steps in) {
          const auto inner =
              ops::scan([&](Steps sum, Steps row) { return ops::ScanStep{{sum[0] * x[2] + row[0]}, {sum[0]}}; },
                        {outer[0]}, {in[0]});
          return ops::ScanStep{{inner.carry[0]}, inner.outputs};
        },
        {x[0]}, {x[1]}));
  };
  return {"Scan",
          Gradient::passes,
          {{"running sum", {number({3}), number({4, 3})}, running_sum(false)},
           {"running sum from the end", {number({3}), number({4, 3})}, running_sum(true)},
           {"one step", {number({3}), number({1, 3})}, running_sum(false)},
           {"recurrent product", {number({2, 3}), number({4, 2, 3}), number({3, 3})}, recurrent},
           {"carried Values that change places", {number({3}), number({3, 3})}, swapping},
           {"gates", {number({2, 2}), number({2, 2}), number({3, 2, 8}), number({2, 8}), number({8})}, gated(false)},
           {"gates from the end",
            {number({2, 2}), number({2, 2}), number({3, 2, 8}), number({2, 8}), number({8})},
            gated(true)},
           {"masked", {number({3}), number({4, 3}), {{4, 3}, Numbers::between, 0, 2, DType::boolean}}, masked},
           {"a loop in a loop", {number({2}), number({3, 2, 2}), number({2})}, nested}}};
}

}  // namespace etude::testing
