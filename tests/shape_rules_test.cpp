#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <regex>
#include <set>
#include <utility>

#include "etude/graph/detail/node.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "op_cases.hpp"

using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;

constexpr DType float32 = DType::float32, float64 = DType::float64, int32 = DType::int32, uint8 = DType::uint8,
                boolean = DType::boolean;

struct Kind {
  Shape shape;
  DType dtype = float32;
};

/// Inputs of these kinds, and the trace's error for a function of them.
std::string said(const std::vector<Kind>& inputs, const Function& function) {
  Graph graph;
  const Trace trace(graph);
  std::vector<Value> x;
  for (const Kind& input : inputs) x.push_back(graph.input(input.shape, input.dtype));
  return error_of([&] { function(x); });
}

/// `[where] what came - what was expected - what to do.`
bool has_house_form(const std::string& text) {
  static const std::regex form(R"(\[[^\[\]]+\] .+ - .+ - .+\.)");
  return std::regex_match(text, form);
}

/// Invalid arguments of an op: its name, its arguments, and the text that the error must contain.
struct Refusal {
  std::string name;
  std::vector<Kind> inputs;
  Function function;
  std::vector<std::string> names = {};
};

Function append(Op op) {
  return [=](Values x) { return Graph::current().append(op, x); };
}
template <Value (*f)(Value)> Value of_one(Values x) { return f(x[0]); }
template <Value (*f)(Value, Value)> Value of_two(Values x) { return f(x[0], x[1]); }

/// Those below, and those of the ops' entries.
std::vector<Refusal> all_refusals() {
  const Window three{.extent = {3, 3}};
  std::vector<Refusal> refusals{
      {"add", {{{2, 3}}, {{4}}}, of_two<ops::add>, {"Add", "[2, 3]", "[4]"}},
      {"less", {{{2, 3}}, {{2, 2}}}, of_two<ops::less>, {"Less", "[2, 3]", "[2, 2]"}},
      {"where", {{{2}, boolean}, {{3}}, {{3}}}, [](Values x) { return ops::where(x[0], x[1], x[2]); }, {"[2]", "[3]"}},
      {"where by a number", {{{3}}, {{3}}, {{3}}}, [](Values x) { return ops::where(x[0], x[1], x[2]); }, {"float32"}},
      {"where of two dtypes",
       {{{3}, boolean}, {{3}}, {{3}, float64}},
       [](Values x) { return ops::where(x[0], x[1], x[2]); },
       {"float32", "float64"}},
      {"multiply of two dtypes", {{{2}}, {{2}, int32}}, of_two<ops::multiply>, {"float32", "int32"}},
      {"equal of two dtypes", {{{2}, uint8}, {{2}, int32}}, of_two<ops::equal>, {"uint8", "int32"}},
      {"divide of integers", {{{2}, int32}, {{2}, int32}}, of_two<ops::divide>, {"Divide", "int32"}},
      {"exp of bytes", {{{2}, uint8}}, of_one<ops::exp>, {"Exp", "uint8"}},
      {"Add of unequal shapes", {{{2, 3}}, {{3}}}, append(op::Add{}), {"Add", "[2, 3]", "[3]"}},
      {"Add of one operand", {{{2}}}, append(op::Add{}), {"Add", "1", "2"}},

      {"broadcast to less", {{{2, 3}}}, [](Values x) { return ops::broadcast_to(x[0], {3}); }, {"[2, 3]", "[3]"}},
      {"broadcast to other",
       {{{2, 3}}},
       [](Values x) { return ops::broadcast_to(x[0], {4, 3}); },
       {"[2, 3]", "[4, 3]"}},
      {"broadcast to 1", {{{3}}}, [](Values x) { return ops::broadcast_to(x[0], {1}); }, {"[3]", "[1]"}},
      {"reshape", {{{2, 3}}}, [](Values x) { return ops::reshape(x[0], {4, 2}); }, {"[2, 3]", "[4, 2]"}},
      {"reshape with a rest", {{{2, 3}}}, [](Values x) { return ops::reshape(x[0], {4, -1}); }, {"[2, 3]", "[4, -1]"}},
      {"reshape with two unknowns", {{{2, 3}}}, [](Values x) { return ops::reshape(x[0], {-1, -1}); }, {"[-1, -1]"}},
      {"reshape of nothing to anything", {{{0, 3}}}, [](Values x) { return ops::reshape(x[0], {0, -1}); }, {"[0, -1]"}},
      {"reshape to less than nothing", {{{6}}}, [](Values x) { return ops::reshape(x[0], {-2, -3}); }, {"[-2, -3]"}},
      {"transpose with too few axes", {{{2, 3}}}, [](Values x) { return ops::transpose(x[0], {0}); }, {"[2, 3]"}},
      {"transpose with an axis twice", {{{2, 3}}}, [](Values x) { return ops::transpose(x[0], {1, 1}); }, {"axis 1"}},
      {"transpose with an axis that is not",
       {{{2, 3}}},
       [](Values x) { return ops::transpose(x[0], {0, 2}); },
       {"axis 2"}},
      {"expand_dims", {{{2, 3}}}, [](Values x) { return ops::expand_dims(x[0], 3); }, {"axis 3", "[2, 3]"}},
      {"squeeze", {{{2, 3}}}, [](Values x) { return ops::squeeze(x[0], 0); }, {"axis 0", "[2, 3]"}},
      {"squeeze of no axis", {{{2, 3}}}, [](Values x) { return ops::squeeze(x[0], -3); }, {"axis -3", "[2, 3]"}},

      {"sum over no axis", {{{2, 3}}}, [](Values x) { return ops::sum(x[0], {2}); }, {"sum", "axis 2", "[2, 3]"}},
      {"sum of bytes", {{{2}, uint8}}, [](Values x) { return ops::sum(x[0]); }, {"Sum", "uint8"}},
      {"mean of conditions", {{{2}, boolean}}, [](Values x) { return ops::mean(x[0]); }, {"bool"}},
      {"max over no axis", {{{2, 3}}}, [](Values x) { return ops::max(x[0], {-3}); }, {"max", "axis -3"}},
      {"max of integers", {{{2}, int32}}, [](Values x) { return ops::max(x[0]); }, {"Max", "int32"}},
      {"max of nothing", {{{0}}}, [](Values x) { return ops::max(x[0]); }, {"Max", "[0]"}},
      {"argmax of a scalar", {{{}}}, of_one<ops::argmax>, {"ArgMax", "[]"}},
      {"argmax of integers", {{{3}, int32}}, of_one<ops::argmax>, {"ArgMax", "int32"}},
      {"argmax of no elements", {{{3, 0}}}, of_one<ops::argmax>, {"ArgMax", "[3, 0]"}},
      {"one_hot of floats", {{{3}}}, [](Values x) { return ops::one_hot(x[0], 4); }, {"OneHot", "float32"}},
      {"take by floats",
       {{{3, 2}}, {{4}}},
       [](Values x) { return x[0].graph().append(op::Gather{}, {x[0], x[1]}); },
       {"Gather", "float32"}},
      {"take of a scalar", {{{}}, {{4}, int32}}, [](Values x) { return ops::take(x[0], x[1]); }, {"Gather", "scalar"}},
      {"scatter_add of fewer indices",
       {{{3, 2}}, {{4}, int32}},
       [](Values x) { return ops::scatter_add(x[0], x[1], 5); },
       {"ScatterAdd", "[4]", "[3, 2]"}},
      {"scatter_add to less than no rows",
       {{{3, 2}}, {{3}, int32}},
       [](Values x) { return ops::scatter_add(x[0], x[1], -1); },
       {"ScatterAdd", "-1 rows"}},
      {"one_hot of no depth", {{{3}, int32}}, [](Values x) { return ops::one_hot(x[0], -1); }, {"OneHot", "-1"}},

      {"a convolution of rows", {{{5, 5}}, {{3, 3, 1, 2}}}, append(op::Convolution{three}), {"Convolution", "[5, 5]"}},
      {"a kernel of another window",
       {{{1, 5, 5, 1}}, {{2, 3, 1, 2}}},
       append(op::Convolution{three}),
       {"[2, 3, 1, 2]", "3 x 3"}},
      {"channels that are no groups",
       {{{1, 5, 5, 3}}, {{3, 3, 2, 2}}},
       append(op::Convolution{three}),
       {"[1, 5, 5, 3]"}},
      {"filters that are no groups",
       {{{1, 5, 5, 4}}, {{3, 3, 2, 3}}},
       append(op::Convolution{three}),
       {"[3, 3, 2, 3]"}},
      {"a window that does not fit",
       {{{1, 2, 5, 1}}, {{3, 3, 1, 2}}},
       append(op::Convolution{three}),
       {"[1, 2, 5, 1]"}},
      {"a kernel of another dtype",
       {{{1, 5, 5, 1}}, {{3, 3, 1, 2}, float64}},
       append(op::Convolution{three}),
       {"float32", "float64"}},
      {"dx of another dy",
       {{{1, 4, 3, 2}}, {{3, 3, 1, 2}}},
       append(op::ConvolutionInput{three, {1, 5, 5, 1}}),
       {"ConvolutionInput", "[1, 4, 3, 2]", "[1, 3, 3, 2]"}},
      {"dkernel of another dy",
       {{{1, 5, 5, 1}}, {{1, 3, 3, 4}}},
       append(op::ConvolutionFilter{three, {3, 3, 1, 2}}),
       {"ConvolutionFilter", "[1, 3, 3, 4]"}},
      {"pooling of integers", {{{1, 5, 5, 1}, int32}}, append(op::PoolArgMax{three}), {"PoolArgMax", "int32"}},
      {"pooling of rows", {{{5, 5}}}, append(op::PoolArgMax{three}), {"[5, 5]"}},
      {"pooling by a window that does not fit", {{{1, 2, 5, 1}}}, append(op::PoolArgMax{three}), {"3 x 3"}},
      {"pooling of padding alone",
       {{{1, 5, 5, 1}}},
       append(op::PoolArgMax{{.extent = {2, 2}, .before = {2, 0}}}),
       {"extent 2", "padding 2"}},
      {"an index of another dtype",
       {{{1, 5, 5, 1}}, {{1, 3, 3, 1}, int32}},
       append(op::PoolGather{three}),
       {"PoolGather", "int32", "uint8"}},
      {"a gradient of another pooling",
       {{{1, 2, 3, 1}}, {{1, 2, 3, 1}, uint8}},
       append(op::PoolScatter{three, {1, 5, 5, 1}}),
       {"PoolScatter", "[1, 2, 3, 1]", "[1, 3, 3, 1]"}},

      {"matmul", {{{2, 3}}, {{4, 5}}}, of_two<ops::matmul>, {"MatMul", "[2, 3]", "[4, 5]"}},
      {"matmul of a vector", {{{3}}, {{3, 5}}}, of_two<ops::matmul>, {"MatMul", "[3]"}},
      {"matmul with a vector", {{{2, 3}}, {{3}}}, of_two<ops::matmul>, {"MatMul", "[3]"}},
      {"matmul of rows with a vector", {{{2, 2, 3}}, {{3}}}, of_two<ops::matmul>, {"MatMul", "[3]"}},
      {"matmul of rows with a scalar", {{{2, 2, 3}}, {{}}}, of_two<ops::matmul>, {"MatMul", "[]"}},
      {"matmul of other batches", {{{2, 3, 4}}, {{3, 4, 2}}}, of_two<ops::matmul>, {"MatMul", "[2]", "[3]"}},
      {"matmul of a batch", {{{2, 3, 4}}, {{2, 3, 4}}}, of_two<ops::matmul>, {"MatMul", "[2, 3, 4]"}},
      {"matmul, transposed",
       {{{2, 3}}, {{3, 5}}},
       [](Values x) { return ops::matmul(x[0], x[1], true, false); },
       {"[2, 3] (transposed)"}},
      {"matmul of two dtypes", {{{2, 3}}, {{3, 4}, float64}}, of_two<ops::matmul>, {"float32", "float64"}},
      {"matmul of integers", {{{2, 3}, int32}, {{3, 4}, int32}}, of_two<ops::matmul>, {"int32"}},

      {"softmax of a scalar", {{{}}}, of_one<ops::softmax>, {"Softmax", "[]"}},
      {"softmax of integers", {{{3}, int32}}, of_one<ops::softmax>, {"Softmax", "int32"}},
      {"softmax_crossentropy", {{{2, 3}}, {{2, 4}}}, of_two<ops::softmax_crossentropy>, {"[2, 3]", "[2, 4]"}},
      {"softmax_crossentropy with labels", {{{2, 3}}, {{2}}}, of_two<ops::softmax_crossentropy>, {"[2, 3]", "[2]"}},
      {"softmax_crossentropy of two dtypes", {{{3}}, {{3}, float64}}, of_two<ops::softmax_crossentropy>, {"float64"}},
      {"softmax_crossentropy without classes", {{{2, 0}}, {{2, 0}}}, of_two<ops::softmax_crossentropy>, {"[2, 0]"}},
      {"sparse_softmax_crossentropy",
       {{{2, 3}}, {{3}, int32}},
       of_two<ops::sparse_softmax_crossentropy>,
       {"[2, 3]", "[3]"}},
      {"sparse_softmax_crossentropy without classes",
       {{{2, 0}}, {{2}, int32}},
       of_two<ops::sparse_softmax_crossentropy>,
       {"[2, 0]"}},
      {"sigmoid_crossentropy", {{{2, 3}}, {{2}}}, of_two<ops::sigmoid_crossentropy>, {"[2, 3]", "[2]"}},
      {"uniform by a float",
       {{{}}},
       [](Values x) { return ops::uniform({2}, float32, 1, 2, x[0]); },
       {"Uniform", "float32"}},
      {"uniform by a vector",
       {{{2}, int32}},
       [](Values x) { return ops::uniform({2}, float32, 1, 2, x[0]); },
       {"Uniform", "[2]"}},
      {"uniform integers",
       {{{}, int32}},
       [](Values x) { return ops::uniform({2}, int32, 1, 2, x[0]); },
       {"Uniform", "int32"}},
      {"all_reduce of bytes",
       {{{2}, DType::uint8}},
       [](Values x) { return x[0].graph().append(op::AllReduce{}, {x[0]}); },
       {"AllReduce", "uint8"}},
      {"nine axes", {{{1, 1, 1, 1, 1, 1, 1, 1}}}, [](Values x) { return ops::expand_dims(x[0], 0); }, {"9 axes"}},
  };
  for (const OpEntry& entry : op_table())
    for (const OpRefusal& refusal : entry.refusals) {
      std::vector<Kind> inputs;
      for (const Argument& argument : refusal.arguments) inputs.push_back({argument.shape, argument.dtype});
      refusals.push_back({std::string(entry.name) + ", " + refusal.name, inputs, refusal.function, refusal.names});
    }
  return refusals;
}

/// The names of the ops that a kernel computes.
template <std::size_t... I> std::set<std::string> kernel_ops(std::index_sequence<I...>) {
  std::set<std::string> names;
  const auto add = [&]<class O>(const O&) {
    if (traits_of<O>().role == op::Role::kernel) names.emplace(struct_name<O>());
  };
  (add(std::variant_alternative_t<I, OpVariant>{}), ...);
  return names;
}

}  // namespace

TEST_CASE("wrong shapes and dtypes are refused with what came, what was expected and what to do", "[graph][shapes]") {
  for (const Refusal& refusal : all_refusals()) {
    const std::string text = said(refusal.inputs, refusal.function);
    INFO(refusal.name << ": " << text);
    CHECK(has_house_form(text));
    for (const std::string& name : refusal.names) CHECK(text.find(name) != std::string::npos);
  }
}

TEST_CASE("every op that a kernel computes refuses wrong operands", "[graph][shapes]") {
  std::set<std::string> without = kernel_ops(std::make_index_sequence<std::variant_size_v<OpVariant>>{});
  without.erase("Transpose");  // ops::transpose refuses wrong orders before it makes one
  for (const Refusal& refusal : all_refusals()) {
    const std::string text = said(refusal.inputs, refusal.function);
    without.erase(text.substr(1, text.find(']') - 1));
  }
  CHECK(without == std::set<std::string>{});
}

// Bytes are computed with in float lanes: sums that leave 0 … 255 would mean one thing fused and another in memory.
TEST_CASE("arithmetic on bytes and conditions is refused", "[graph][shapes]") {
  for (const DType dtype : {uint8, boolean}) {
    for (const Function& function : {Function(of_two<ops::subtract>), Function(of_two<ops::multiply>),
                                     Function([](Values x) { return x[0] + x[1]; }), Function(of_one<ops::square>),
                                     Function(of_one<ops::negate>)}) {
      const std::string text = said({{{2}, dtype}, {{2}, dtype}}, function);
      INFO(text);
      CHECK(has_house_form(text));
      CHECK(text.find(name_of(dtype)) != std::string::npos);
    }
    for (const Function& function : {Function(of_two<ops::maximum>), Function(of_two<ops::equal>),
                                     Function(of_two<ops::logical_and>), Function(of_one<ops::relu>)})
      CHECK(said({{{2}, dtype}, {{2}, dtype}}, function) == "no error");
  }
}

TEST_CASE("the most frequent errors have these texts", "[graph][shapes]") {
  CHECK(said({{{32, 7}}, {{8, 10}}}, of_two<ops::matmul>) ==
        "[MatMul] shapes [32, 7] and [8, 10] - expected [.., m, k] and [.., k, n] - check the order and the shapes.");
  CHECK(
      said({{{2, 3}}, {{4}}}, of_two<ops::add>) ==
      "[Add] shapes [2, 3] and [4] - expected axes that are equal or 1, counted from the last - reshape one of them.");
  CHECK(said({{{2}}, {{2}, int32}}, of_two<ops::add>) ==
        "[Add] operands of dtype float32 and int32 - expected equal dtypes - cast one of them.");
  CHECK(said({{{2}, uint8}}, of_one<ops::exp>) ==
        "[Exp] an operand of dtype uint8 - expected a float - cast it to float32.");
  CHECK(
      said({{{32, 10}}, {{32, 1}, int32}}, of_two<ops::sparse_softmax_crossentropy>) ==
      "[SparseSoftmaxCrossentropy] logits of shape [32, 10] and labels of shape [32, 1], int32 - expected int32 labels "
      "of shape [32] - check the targets.");
}

TEST_CASE("a Value of another trace, or none, is refused", "[graph][shapes]") {
  Graph other;
  const Value stranger = other.input({2}, float32);
  Graph graph;
  const Trace trace(graph);
  const Value x = graph.input({2}, float32);
  CHECK(has_house_form(error_of([&] { ops::add(x, stranger); })));
  CHECK(has_house_form(error_of([&] { graph.append(op::Negate{}, {Value{}}); })));
}

TEST_CASE("an assignment of another shape or dtype is refused", "[graph][shapes]") {
  const Variable variable("kernel", Tensor({2, 3}));
  Graph graph;
  const Trace trace(graph);
  const std::string text = error_of([&] { graph.assign(variable, graph.input({3}, float32)); });
  CHECK(
      text ==
      "[Variable \"kernel\"] assigned a Value of shape [3], float32 - expected [2, 3], float32 - reshape or cast it.");
  CHECK(has_house_form(error_of([&] { graph.assign(variable, graph.input({2, 3}, float64)); })));
}

TEST_CASE("data that a trace does not have yet is an error", "[graph][shapes]") {
  Graph graph;
  const Trace trace(graph);
  const Value x = graph.input({2}, float32);
  CHECK(has_house_form(error_of([&] { graph.inspect(x.id()); })));
  const auto vector_log = [](Graph&, Values v) { return Compiled::Outcome{{}, {v[0]}}; };
  CHECK(has_house_form(error_of([&] { Compiled(std::vector{Tensor(Shape{2})}, vector_log); })));
}

TEST_CASE("shapes broadcast by NumPy's rule", "[graph][shapes]") {
  struct Meeting {
    Shape a, b, both;
  };
  for (const auto& [a, b, both] : std::vector<Meeting>{{{}, {}, {}},
                                                       {{}, {2}, {2}},
                                                       {{2, 3}, {3}, {2, 3}},
                                                       {{2, 1}, {3}, {2, 3}},
                                                       {{4, 1, 3}, {2, 1}, {4, 2, 3}},
                                                       {{0, 3}, {1, 3}, {0, 3}},
                                                       {{1}, {0}, {0}}}) {
    CHECK(broadcast_shapes(a, b, "test") == both);
    CHECK(broadcast_shapes(b, a, "test") == both);
  }
}

TEST_CASE("tensors without elements pass the ops that accept them", "[graph][shapes]") {
  Random random = draws(1);
  const Tensor none({0, 3}), weights = random_tensor(random, {3, 2}, float32), columns({2, 0});
  const auto shape_of = [](std::initializer_list<Tensor> inputs, const Function& function) {
    return run(inputs, function).shape();
  };
  CHECK(shape_of({none}, [](Values x) { return ops::exp(x[0]) + 1; }) == Shape{0, 3});
  CHECK(shape_of({none, weights}, of_two<ops::matmul>) == Shape{0, 2});
  CHECK(shape_of({none}, of_one<ops::softmax>) == Shape{0, 3});
  CHECK(shape_of({none}, of_one<ops::argmax>) == Shape{0});
  CHECK(shape_of({none}, [](Values x) { return ops::transpose(x[0]); }) == Shape{3, 0});
  CHECK(shape_of({none}, [](Values x) { return ops::reshape(x[0], {-1, 3}); }) == Shape{0, 3});
  CHECK(numbers(run({none}, [](Values x) { return ops::sum(x[0]); })) == std::vector<double>{0});
  CHECK(numbers(run({none}, [](Values x) { return ops::sum(x[0], {0}); })) == std::vector<double>{0, 0, 0});
  CHECK(numbers(run({columns}, [](Values x) { return ops::sum(x[0], {1}); })) == std::vector<double>{0, 0});
  // A product over an inner axis of extent 0 is zero, also for rows.
  CHECK(numbers(run({columns, Tensor({0, 2})}, of_two<ops::matmul>)) == std::vector<double>{0, 0, 0, 0});
  CHECK(numbers(run({Tensor({1, 2, 0}), Tensor({0, 2})}, of_two<ops::matmul>)) == std::vector<double>{0, 0, 0, 0});
}
