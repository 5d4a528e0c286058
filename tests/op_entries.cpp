#include "op_entries.hpp"

#include "etude/graph/detail/node.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "etude/ops/sorting.hpp"

namespace etude::testing {

template <> OpEntry entry(const op::Input&) {
  return {"Input", Gradient::passes, {{"the batch itself", {number({2, 3})}, [](Values x) { return x[0]; }}}};
}

template <> OpEntry entry(const op::Constant&) {
  const auto constant = [](const Shape& shape, DType dtype) {
    return [=](Values) { return ops::cast(Graph::current().constant(3, dtype, shape), DType::float64); };
  };
  return {"Constant",
          Gradient::zero,
          {{"a scalar", {}, constant({}, DType::float64)},
           {"[2, 3]", {}, constant({2, 3}, DType::float32)},
           {"int32 [4]", {}, constant({4}, DType::int32)}}};
}

template <> OpEntry entry(const op::Read&) {
  const Variable variable("v", tensor_of({2, 3}, DType::float64, {1, 2, 3, 4, 5, 6}));
  return {"Read", Gradient::zero, {{"[2, 3]", {}, [=](Values) { return Graph::current().read(variable); }}}};
}

template <> OpEntry entry(const op::Cast&) {
  const auto there_and_back = [](DType dtype) {
    return [=](Values x) { return ops::cast(ops::cast(x[0], dtype), x[0].dtype()); };
  };
  // Eighths and steps of 2^-20 are exact in float32.
  return {
      "Cast",
      Gradient::passes,
      {{"by float32", {spaced({2, 3})}, there_and_back(DType::float32)},
       {"of a scalar", {spaced({})}, there_and_back(DType::float32)},
       {"by float64", {spaced({5})}, [](Values x) { return x[0].graph().append(op::Cast{x[0].dtype()}, {x[0]}); }}}};
}

template <> OpEntry entry(const op::StopGradient&) {
  return {
      "StopGradient",
      Gradient::stopped,
      {{"[2, 3]", {number({2, 3})}, front(ops::stop_gradient)}, {"a scalar", {number({})}, front(ops::stop_gradient)}}};
}

template <> OpEntry entry(const op::Broadcast&) {
  OpEntry entry{"Broadcast", Gradient::passes, {}};
  for (const auto& [from, to] : std::vector<std::pair<Shape, Shape>>{
           {{}, {2, 3}}, {{3}, {2, 3}}, {{2, 1}, {2, 3}}, {{1}, {4}}, {{1, 1}, {3, 2}}, {{2, 1, 3}, {4, 2, 2, 3}}})
    entry.cases.push_back({from.to_string() + " to " + to.to_string(), {number(from)}, [=](Values x) {
                             return ops::broadcast_to(x[0], to);
                           }});
  return entry;
}

template <> OpEntry entry(const op::Reshape&) {
  OpEntry entry{"Reshape", Gradient::passes, {}};
  for (const auto& [from, to] : std::vector<std::pair<Shape, Shape>>{
           {{2, 3}, {3, 2}}, {{2, 3}, {-1}}, {{6}, {2, -1, 1}}, {{}, {1, 1}}, {{1}, {}}})
    entry.cases.push_back(
        {from.to_string() + " to " + to.to_string(), {number(from)}, [=](Values x) { return ops::reshape(x[0], to); }});
  return entry;
}

template <> OpEntry entry(const op::Transpose&) {
  OpEntry entry{"Transpose", Gradient::passes, {}};
  for (const auto& [shape, order] :
       std::vector<std::pair<Shape, std::vector<std::uint8_t>>>{{{2, 3}, {}},
                                                                {{2, 3}, {0, 1}},
                                                                {{2, 3, 4}, {1, 2, 0}},
                                                                {{2, 3, 4}, {2, 0, 1}},
                                                                {{2, 1, 3, 2}, {3, 1, 0, 2}}})
    entry.cases.push_back({shape.to_string() + (order.empty() ? " reversed" : ""), {number(shape)}, [=](Values x) {
                             return ops::transpose(x[0], order);
                           }});
  return entry;
}

template <> OpEntry entry(const op::Slice&) {
  OpEntry entry{"Slice", Gradient::passes, {}};
  for (const auto& [shape, axis, first, count] :
       std::vector<std::tuple<Shape, std::ptrdiff_t, std::int64_t, std::int64_t>>{
           {{5}, 0, 1, 3}, {{4, 3}, 0, 1, 2}, {{4, 6}, -1, 2, 3}, {{2, 3, 4}, 1, 2, 1}, {{1, 3}, 1, 0, 1}})
    entry.cases.push_back({shape.to_string() + " axis " + std::to_string(axis), {number(shape)}, [=](Values x) {
                             return ops::slice(x[0], axis, first, count);
                           }});
  return entry;
}

template <> OpEntry entry(const op::Reverse&) {
  OpEntry entry{"Reverse", Gradient::passes, {}};
  for (const auto& [shape, axis] :
       std::vector<std::pair<Shape, std::ptrdiff_t>>{{{5}, 0}, {{4, 3}, 0}, {{4, 3}, 1}, {{2, 3, 2}, 1}, {{1, 2}, 0}})
    entry.cases.push_back({shape.to_string() + " axis " + std::to_string(axis), {number(shape)}, [=](Values x) {
                             return ops::reverse(x[0], axis);
                           }});
  return entry;
}

template <> OpEntry entry(const op::Concatenate&) {
  const auto along = [](std::ptrdiff_t axis) {
    return [=](Values x) { return ops::concatenate(std::vector<Value>(x.begin(), x.end()), axis); };
  };
  OpEntry entry{"Concatenate",
                Gradient::passes,
                {{"[2] [3]", {number({2}), number({3})}, along(0)},
                 {"columns", {number({4, 2}), number({4, 1}), number({4, 3})}, along(-1)},
                 {"rows", {number({1, 3}), number({2, 3})}, along(0)},
                 {"a middle axis", {number({2, 1, 3}), number({2, 2, 3})}, along(1)},
                 {"twice the same", {number({2, 3})}, [](Values x) { return ops::concatenate({x[0], x[0]}, 1); }},
                 {"what programs compute", {number({3, 2}), number({3, 2})}, [](Values x) {
                    return ops::concatenate({ops::exp(x[0]), ops::tanh(x[1]), x[0] * x[1]}, -1);
                  }}}};
  entry.refusals = {{"other columns", {number({2, 3}), number({2, 2})}, along(0), {"[2, 3]", "[2, 2]"}}};
  return entry;
}

namespace {

/// A reduction over different axes, which are removed or kept.
std::vector<OpCase> reductions(Numbers numbers, Value (*reduce)(Value, const std::vector<std::ptrdiff_t>&, bool)) {
  std::vector<OpCase> cases;
  for (const auto& [shape, axes] : std::vector<std::pair<Shape, std::vector<std::ptrdiff_t>>>{{{}, {}},
                                                                                              {{7}, {}},
                                                                                              {{2, 3}, {}},
                                                                                              {{2, 3}, {0}},
                                                                                              {{2, 3}, {-1}},
                                                                                              {{2, 3, 2}, {1}},
                                                                                              {{2, 3, 2}, {0, 2}},
                                                                                              {{2, 3, 2}, {0, 1}},
                                                                                              {{1, 4}, {0}}})
    for (const bool keepdims : {false, true})
      cases.push_back(
          {shape.to_string() + " over " + std::to_string(axes.size()) + " axes" + (keepdims ? ", kept" : ""),
           {{shape, numbers}},
           [=](Values x) { return reduce(x[0], axes, keepdims); }});
  return cases;
}

}  // namespace

template <> OpEntry entry(const op::Sum&) { return {"Sum", Gradient::passes, reductions(Numbers::between, ops::sum)}; }
template <> OpEntry entry(const op::Max&) { return {"Max", Gradient::passes, reductions(Numbers::apart, ops::max)}; }

template <> OpEntry entry(const op::Cumsum&) {
  const auto along = [](std::ptrdiff_t axis, bool exclusive, bool reverse) {
    return [=](Values x) { return ops::cumsum(x[0], axis, exclusive, reverse); };
  };
  OpEntry entry{"Cumsum", Gradient::passes, {}};
  for (const auto& [shape, axis] : std::vector<std::pair<Shape, std::ptrdiff_t>>{
           {{5}, 0}, {{4, 3}, 0}, {{4, 3}, -1}, {{2, 3, 2}, 1}, {{1, 2}, 0}, {{2, 70}, 1}})
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        entry.cases.push_back({shape.to_string() + " axis " + std::to_string(axis) + (exclusive ? ", exclusive" : "") +
                                   (reverse ? ", reverse" : ""),
                               {{shape, Numbers::between, 0, 1}},
                               along(axis, exclusive, reverse)});
  entry.cases.push_back({"whole numbers", {number({2, 40}), labels({2, 40}, 9)}, [](Values x) {
                           return x[0] * ops::cast(ops::cumsum(x[1], -1), x[0].dtype());
                         }});
  const std::vector<Tensor> row{tensor_of({4}, DType::float64, {1, 2, 3, 4})},
      rows{tensor_of({3, 2}, DType::int32, {1, 10, 2, 20, 3, 30})};
  entry.examples = {{"up to each entry", row, along(0, false, false), {1, 3, 6, 10}},
                    {"before each entry", row, along(0, true, false), {0, 1, 3, 6}},
                    {"from each entry", row, along(0, false, true), {10, 9, 7, 4}},
                    {"behind each entry", row, along(0, true, true), {9, 7, 4, 0}},
                    {"columns of int32", rows, along(0, false, false), {1, 10, 3, 30, 6, 60}},
                    {"rows of int32, from their ends", rows, along(-1, true, true), {10, 0, 20, 0, 30, 0}}};
  entry.refusals = {
      {"bytes", {{{2}, Numbers::between, 0, 9, DType::uint8}}, along(0, false, false), {"Cumsum", "uint8"}},
      {"an axis that is not", {number({2, 3})}, along(2, false, false), {"cumsum", "axis 2", "[2, 3]"}}};
  return entry;
}

template <> OpEntry entry(const op::ArgMax&) {
  return {"ArgMax",
          Gradient::zero,
          {{"[5]", {spaced({5})}, front(ops::argmax)},
           {"[2, 3]", {spaced({2, 3})}, front(ops::argmax)},
           {"[2, 2, 4]", {spaced({2, 2, 4})}, front(ops::argmax)}}};
}

template <> OpEntry entry(const op::ArgSort&) {
  const auto order = [](bool descending) { return [=](Values x) { return ops::argsort(x[0], -1, descending); }; };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Tensor> row{tensor_of({6}, DType::float64, {3, 1, nan, 3, 2, 1})},
      rows{tensor_of({2, 3}, DType::int32, {3, 1, 3, -1, 0, -2})};
  OpEntry entry{"ArgSort",
                Gradient::zero,
                {{"[5]", {spaced({5})}, order(false)},
                 {"[2, 3], descending", {spaced({2, 3})}, order(true)},
                 {"[2, 2, 40]", {spaced({2, 2, 40})}, order(false)},
                 {"[3, 1]", {spaced({3, 1})}, order(true)}}};
  entry.examples = {{"equals keep their order, NaN is the largest", row, order(false), {1, 5, 4, 0, 3, 2}},
                    {"the same, descending", row, order(true), {2, 0, 3, 4, 1, 5}},
                    {"rows of int32", rows, order(false), {1, 0, 2, 2, 0, 1}}};
  entry.refusals = {{"bytes", {{{2}, Numbers::between, 0, 9, DType::uint8}}, order(false), {"ArgSort", "uint8"}}};
  return entry;
}

template <> OpEntry entry(const op::OneHot&) {
  const auto one_hot = [](std::int64_t depth) {
    return [=](Values x) { return ops::one_hot(x[0], depth, DType::float64); };
  };
  return {"OneHot",
          Gradient::zero,
          {{"a scalar", {labels({}, 3)}, one_hot(3)},
           {"[4]", {labels({4}, 3)}, one_hot(3)},
           {"[2, 3], some out of range", {labels({2, 3}, 9)}, one_hot(4)}}};
}

template <> OpEntry entry(const op::Gather&) {
  const auto take = front(ops::take);
  return {"Gather",
          Gradient::passes,
          {{"one row", {number({4, 3}), labels({}, 4)}, take},
           {"rows, some of them twice", {number({3, 2}), labels({5}, 3)}, take},
           {"rows of two axes by [2, 3]", {number({3, 2, 4}), labels({2, 3}, 3)}, take},
           {"elements", {number({5}), labels({2, 2}, 5)}, take}}};
}

template <> OpEntry entry(const op::ScatterAdd&) {
  const auto scatter = [](std::int64_t rows) { return [=](Values x) { return ops::scatter_add(x[0], x[1], rows); }; };
  return {"ScatterAdd",
          Gradient::passes,
          {{"one row", {number({3}), labels({}, 4)}, scatter(4)},
           {"rows, some of them twice", {number({5, 2}), labels({5}, 3)}, scatter(3)},
           {"rows of two axes by [2, 3]", {number({2, 3, 2, 4}), labels({2, 3}, 3)}, scatter(3)},
           {"elements", {number({2, 2}), labels({2, 2}, 5)}, scatter(5)}}};
}

template <> OpEntry entry(const op::MatMul&) {
  OpEntry entry{"MatMul", Gradient::passes, {}};
  for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{{2, 3, 4}, {1, 3, 2}, {3, 2, 1}, {1, 1, 1}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        entry.cases.push_back({std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n) +
                                   (ta ? " At" : " A") + (tb ? " Bt" : " B"),
                               {number(ta ? Shape{k, m} : Shape{m, k}), number(tb ? Shape{n, k} : Shape{k, n})},
                               [=](Values x) { return ops::matmul(x[0], x[1], ta, tb); }});
  entry.cases.push_back(
      {"[2, 3, 4] rows", {number({2, 3, 4}), number({4, 2})}, [](Values x) { return ops::matmul(x[0], x[1]); }});
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      entry.cases.push_back(
          {std::string("[2, 3] products of 2 x 3 x 4") + (ta ? " At" : " A") + (tb ? " Bt" : " B"),
           {number(ta ? Shape{2, 3, 3, 2} : Shape{2, 3, 2, 3}), number(tb ? Shape{2, 3, 4, 3} : Shape{2, 3, 3, 4})},
           [=](Values x) { return ops::matmul(x[0], x[1], ta, tb); }});
  entry.cases.push_back({"leading axes that broadcast", {number({2, 1, 2, 3}), number({3, 3, 2})}, [](Values x) {
                           return ops::matmul(x[0], x[1]);
                         }});
  entry.cases.push_back({"heads", {number({2, 3, 2, 2}), number({2, 4, 2, 2})}, [](Values x) {
                           const auto heads = [](Value v) { return ops::transpose(v, {0, 2, 1, 3}); };
                           return heads(ops::matmul(ops::matmul(heads(x[0]), heads(x[1]), false, true), heads(x[1])));
                         }});
  entry.cases.push_back({"a matrix with itself", {number({3, 3})}, [](Values x) { return ops::matmul(x[0], x[0]); }});
  return entry;
}

template <> OpEntry entry(const op::Softmax&) {
  OpEntry entry{"Softmax", Gradient::passes, {}};
  for (const Shape& shape : {Shape{4}, Shape{2, 3}, Shape{2, 2, 3}, Shape{3, 1}})
    entry.cases.push_back({shape.to_string(), {number(shape)}, front(ops::softmax)});
  return entry;
}

template <> OpEntry entry(const op::SoftmaxCrossentropy&) {
  OpEntry entry{"SoftmaxCrossentropy", Gradient::passes, {}};
  for (const Shape& shape : {Shape{4}, Shape{2, 3}, Shape{2, 2, 3}, Shape{3, 1}})
    entry.cases.push_back(
        {shape.to_string(), {number(shape), {shape, Numbers::between, 0.1, 1}}, front(ops::softmax_crossentropy)});
  return entry;
}

template <> OpEntry entry(const op::SparseSoftmaxCrossentropy&) {
  OpEntry entry{"SparseSoftmaxCrossentropy", Gradient::passes, {}};
  for (const Shape& shape : {Shape{4}, Shape{2, 3}, Shape{2, 2, 3}, Shape{3, 1}})
    entry.cases.push_back({shape.to_string(),
                           {number(shape), labels(shape.without(-1), static_cast<double>(shape[-1]))},
                           front(ops::sparse_softmax_crossentropy)});
  return entry;
}

template <> OpEntry entry(const op::Uniform&) {
  OpEntry entry{"Uniform", Gradient::zero, {}};
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{2, 3}})
    entry.cases.push_back({shape.to_string(), {labels({}, 9)}, [=](Values x) {
                             return ops::uniform(shape, DType::float64, 1, 2, x[0]);
                           }});
  return entry;
}

template <> OpEntry entry(const op::AllReduce&) {
  const auto append = [](Values x) { return x[0].graph().append(op::AllReduce{}, {x[0]}); };
  return {"AllReduce", Gradient::passes, {{"one replica", {number({2, 3})}, append}}};
}

}  // namespace etude::testing
