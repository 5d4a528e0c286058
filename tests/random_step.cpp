#include "random_step.hpp"

#include <algorithm>
#include <sstream>

#include "etude/graph/detail/node.hpp"
#include "etude/ops/arrangement.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/pooling.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "etude/ops/sorting.hpp"

namespace etude::testing {
namespace {

constexpr std::int64_t largest = 40000;

template <class T> const T& one_of(Random& random, const std::vector<T>& from) {
  return from[random.below(static_cast<std::uint32_t>(from.size()))];
}

bool broadcasts(const Shape& a, const Shape& b) {
  std::int64_t size = 1;
  const auto extent = [](const Shape& s, std::ptrdiff_t i) {
    return i <= static_cast<std::ptrdiff_t>(s.rank()) ? s[-i] : std::int64_t{1};
  };
  for (std::ptrdiff_t i = 1; i <= static_cast<std::ptrdiff_t>(std::max(a.rank(), b.rank())); ++i) {
    const std::int64_t p = extent(a, i), q = extent(b, i);
    if (p != q && p != 1 && q != 1) return false;
    size *= std::max(p, q);
  }
  return size <= largest;
}

/// Appends random ops, each on existing Values.
class Writer {
 public:
  Writer(Graph& graph, Random random, std::span<const Value> inputs, const std::vector<Variable>& variables,
         const std::vector<Shape>& shapes)
      : graph_(graph), random_(random), variables_(variables), shapes_(shapes), pool_(inputs.begin(), inputs.end()) {
    for (const Variable& variable : variables) pool_.push_back(graph.read(variable));
    for (const DType dtype : {DType::float32, DType::float64}) pool_.push_back(graph.constant(0.5, dtype));
  }

  void write(int ops) {
    for (int i = 0; i < ops; ++i) {
      const Value value = step();
      if (value && value.shape().size() <= largest) pool_.push_back(value);
    }
  }

  Compiled::Outcome outcome() {
    Compiled::Outcome outcome;
    for (std::uint32_t i = below(4) + 1; i > 0; --i) outcome.results.push_back(any());
    for (std::uint32_t i = below(4); i > 0; --i) {
      const Value x = any();
      outcome.logs.push_back(x.shape().size() == 1 ? x : ops::mean(ops::cast(x, DType::float32)));
    }
    return outcome;
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return random_.below(bound); }

  /// Prefers recent Values.
  Value any() {
    const auto n = static_cast<std::uint32_t>(pool_.size());
    return pool_[n - 1 - std::min(below(n), below(n))];
  }
  Value any_float() {
    for (int tries = 0; tries < 8; ++tries)
      if (const Value x = any(); is_floating(x.dtype())) return x;
    return as(any(), below(2) ? DType::float32 : DType::float64);
  }

  /// x in another dtype, moved into its range.
  Value as(Value x, DType dtype) {
    if (x.dtype() == dtype) return x;
    if (is_floating(x.dtype()) && dtype == DType::uint8) x = x * 100;
    if (is_floating(x.dtype()) && dtype == DType::int32) x = x * 5;
    if (!is_floating(x.dtype()) && is_floating(dtype)) return ops::cast(x, dtype) * 0.1;
    return ops::cast(x, dtype);
  }

  /// A Value that can be the other operand of a binary op with x.
  Value beside(Value x) {
    for (int tries = 0; tries < 8; ++tries)
      if (const Value other = any(); broadcasts(x.shape(), other.shape())) return as(other, x.dtype());
    return graph_.constant(below(3), x.dtype());
  }

  /// Keeps numbers small, by one of the methods of typical steps.
  Value tame(Value x) {
    if (x.dtype() == DType::int32) return ops::clip(x, -100, 100);
    switch (below(3)) {
      case 0: return ops::clip(x, -4, 4);
      case 1: return ops::tanh(x);
      default: return ops::sigmoid(x) * 4 - 2;
    }
  }

  /// x in a random dtype.
  Value converted(Value x) {
    return as(x, std::vector{DType::float32, DType::float64, DType::float16, DType::int32, DType::uint8,
                             DType::boolean}[below(6)]);
  }

  Value unary(Value x) {
    switch (below(16)) {
      case 0: return -x;
      case 1: return ops::absolute(x);
      case 2: return ops::sign(x);
      case 3: return tame(ops::square(x));
      case 4: return ops::sqrt(ops::absolute(x) + 0.1);
      case 5: return tame(ops::exp(ops::minimum(x, ops::scalar(3, x))));
      case 6: return ops::log(ops::absolute(x) + 0.5);
      case 7: return ops::log1p(ops::absolute(x));
      case 8: return ops::sin(x);
      case 9: return ops::cos(x);
      case 10: return ops::tanh(x);
      case 11: return ops::sigmoid(x);
      case 12: return ops::relu(x);
      case 13: return tame(ops::softplus(x));
      case 14: return ops::erf(x);
      default: return ops::floor(x);
    }
  }

  Value binary(Value x) {
    const Value y = beside(x);
    switch (below(8)) {
      case 0: return tame(x + y);
      case 1: return tame(y - x);
      case 2: return tame(x * y);
      case 3: return tame(x / (ops::absolute(y) + 0.5));
      case 4: return tame(ops::power(ops::absolute(x) + 0.5, y));
      case 5: return ops::maximum(x, y);
      case 6: return ops::minimum(x, y);
      default: return ops::divide_no_nan(ops::floor(x), ops::floor(y));
    }
  }

  Value integer_binary(Value x) {
    const Value y = beside(x);
    switch (below(4)) {
      case 0: return tame(x + y);
      case 1: return tame(x * y);
      case 2: return ops::maximum(x, y);
      default: return tame(x - ops::absolute(y));
    }
  }

  Value condition(Value x) {
    const Value y = beside(x);
    switch (below(7)) {
      case 0: return ops::equal(x, y);
      case 1: return ops::less(x, y);
      case 2: return ops::less_equal(x, y);
      case 3: return ops::logical_and(x, y);
      case 4: return ops::logical_or(x, y);
      case 5: return ops::logical_not(x);
      default: return is_floating(x.dtype()) ? ops::is_finite(x) : ops::greater(x, y);
    }
  }

  Value choice() {
    const Value a = any(), b = beside(a);
    const Value either = ops::maximum(a, b);
    for (int tries = 0; tries < 8; ++tries)
      if (const Value c = any(); broadcasts(c.shape(), either.shape())) return ops::where(as(c, DType::boolean), a, b);
    return either;
  }

  Value reshaped(Value x) {
    switch (below(5)) {
      case 0: return ops::reshape(x, {-1});
      case 1: return ops::reshape(x, {1, -1, 1});
      case 2: return ops::expand_dims(x, -1);
      case 3:
        for (const Shape& shape : shapes_)
          if (shape.size() == x.shape().size()) return ops::reshape(x, shape);
        return ops::stop_gradient(x);
      default: return ops::all_reduce(x);
    }
  }

  Value repeated(Value x) {
    Shape shape = x.shape();
    if (shape.rank() < 5 && shape.size() <= largest / 4) shape = shape.with(0, below(3) + 1);
    for (std::size_t i = 0; i < shape.rank(); ++i)
      if (auto& extent = shape[static_cast<std::ptrdiff_t>(i)]; extent == 1 && below(2)) extent = 3;
    return shape.size() <= largest ? ops::broadcast_to(x, shape) : x;
  }

  Value transposed(Value x) {
    std::vector<std::uint8_t> order(x.shape().rank());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint8_t>(i);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(static_cast<std::uint32_t>(i))]);
    return ops::transpose(x, order);
  }

  /// The first or last elements of x, in its dtype or another: alone, in one of the step's shapes, or one for each row.
  Value part(Value x) {
    const std::int64_t size = x.shape().size(), rows = x.shape().rank() ? x.shape()[0] : 1;
    if (size < 3) return x;
    if (is_floating(x.dtype()) && below(2)) x = unary(x);
    const Shape& shape = one_of(random_, shapes_);
    const std::uint32_t form = below(4);
    const std::int64_t count = form < 2 ? size / (form + 2) : form == 2 ? std::min(shape.size(), size) : rows;
    const Value elements = ops::slice(ops::reshape(x, {-1}), 0, below(4) ? 0 : size - count, count);
    if (form < 2) return converted(elements);
    if (form == 2) return count == shape.size() ? ops::reshape(elements, shape) : elements;
    Shape column = x.shape();
    for (std::size_t i = 1; i < column.rank(); ++i) column[static_cast<std::ptrdiff_t>(i)] = 1;
    return is_floating(x.dtype()) ? tame(x * ops::reshape(elements, column)) : elements;
  }

  /// Rows of x at absolute values of `indices`.
  Value taken(Value x, Value indices) {
    const auto last = static_cast<std::int32_t>(x.shape()[0] - 1);
    if (x.shape().size() * indices.shape().size() > largest) return x;
    return ops::take(x, ops::minimum(ops::absolute(as(indices, DType::int32)), graph_.constant(last, DType::int32)));
  }

  /// Elements of x that are moved, chosen, repeated or beside others.
  Value arranged(Value x) {
    if (x.shape().size() == 0) return x;
    if (x.shape().rank() == 0) return ops::stack({x, x});
    const auto axis = static_cast<std::ptrdiff_t>(below(static_cast<std::uint32_t>(x.shape().rank())));
    const std::int64_t extent = x.shape()[axis], count = below(static_cast<std::uint32_t>(extent)) + 1;
    switch (below(8)) {
      case 0: return ops::slice(x, axis, extent - count, count);
      case 1: return ops::slice(x, axis, 0, count);
      case 2: return ops::concatenate({x, ops::slice(x, axis, 0, count)}, axis);
      case 3: return ops::reverse(x, axis);
      case 4: return ops::roll(x, {count}, {axis});
      case 5: return ops::pad(x, {{1, 2}});
      case 6: return taken(x, any());
      default: return is_floating(x.dtype()) ? ops::sort(x, axis) : tame(ops::cumsum(as(x, DType::int32), axis));
    }
  }

  Value reduced(Value x) {
    if (x.shape().size() == 0) return x;
    std::vector<std::ptrdiff_t> axes;
    for (std::size_t i = 0; i < x.shape().rank(); ++i)
      if (below(2)) axes.push_back(static_cast<std::ptrdiff_t>(i));
    const bool keep = below(2) != 0;
    if (!is_floating(x.dtype())) return tame(ops::sum(as(x, DType::int32), axes, keep));
    switch (below(3)) {
      case 0: return tame(ops::sum(x, axes, keep));
      case 1: return ops::mean(x, axes, keep);
      default: return ops::max(x, axes, keep);
    }
  }

  Value rows(Value x) {
    if (x.shape().rank() == 0) x = ops::reshape(x, {1});
    switch (below(6)) {
      case 0: return ops::softmax(x);
      case 1: return ops::log_softmax(x);
      case 2: return ops::argmax(x);
      case 3: return ops::softmax_crossentropy(x, ops::softmax(ops::sin(x)));
      case 4: return tame(ops::sparse_softmax_crossentropy(x, ops::argmax(ops::cos(x))));
      default: return ops::one_hot(ops::argmax(x), below(4) + 1, below(2) ? DType::float32 : DType::uint8);
    }
  }

  Value product(Value x) {
    const Shape& s = x.shape();
    x = s.rank() == 2 ? x : ops::reshape(x, {-1, s.rank() ? s[-1] : 1});
    const bool ta = below(2) != 0, tb = below(2) != 0;
    const std::int64_t k = x.shape()[ta ? 0 : 1], n = below(3) ? below(9) + 1 : x.shape()[1];
    const Shape shape = tb ? Shape{n, k} : Shape{k, n};
    if (shape.size() > largest || n * x.shape().size() > 40 * largest) return x;
    Value y;
    for (int tries = 0; tries < 8 && !y; ++tries)
      if (const Value other = any(); other.shape().size() == shape.size())
        y = ops::reshape(as(other, x.dtype()), shape);
    if (!y) y = draw(shape, x.dtype());
    const Value z = ops::matmul(x, y, ta, tb) * 0.2;
    return below(2) ? tame(z + draw({n}, x.dtype())) : tame(z);
  }

  /// A convolution, a pooling, or both, with the usual ops between and around them.
  Value windowed(Value x) {
    const std::int64_t size = x.shape().size(), channels = x.shape().rank() && x.shape()[-1] <= 20 ? x.shape()[-1] : 1;
    if (size == 0 || size > largest / 4) return x;
    std::int64_t width = 1;
    for (const std::int64_t extent : {7, 6, 5, 4, 3, 2})
      if (width == 1 && size % (channels * extent) == 0) width = extent;
    x = ops::reshape(x, {below(3) ? 1 : size / channels / width, -1, width, channels});
    if (below(4)) {
      const std::int64_t filters = below(2) ? below(20) + 1 : 4;
      const Window window = sized(x, {.extent = {below(3) + 1, below(3) + 1}, .strides = {below(2) + 1, below(2) + 1}});
      if (x.shape().size() * filters > largest) return x;
      const Value kernel = draw({window.extent[0], window.extent[1], channels, filters}, x.dtype()) - 0.5;
      x = ops::convolution(x, kernel, window);
      if (below(2)) x = x + (draw({filters}, x.dtype()) - 0.5);
      if (below(2)) x = ops::relu(x);
      if (below(6) == 0) pool_.push_back(x);
    }
    if (below(4)) {
      const std::uint32_t extent = below(3) + 1;
      x = ops::max_pool(x, sized(x, {.extent = {extent, 2}, .strides = {below(4) ? extent : 1, 2}}));
      if (below(3) == 0) pool_.push_back(ops::pool_argmax(x, {}));
    }
    return tame(x);
  }

  /// A window with extents that fit x, padded or not.
  Window sized(Value x, Window window) {
    for (const std::size_t axis : {0u, 1u})
      window.extent[axis] = std::min(window.extent[axis], x.shape()[static_cast<std::ptrdiff_t>(axis) + 1]);
    return ops::padded(window, below(2) ? "same" : "valid", {x.shape()[1], x.shape()[2]});
  }

  /// Products of a batch, of axes in any order.
  Value products(Value x) {
    if (x.shape().rank() < 3) return product(x);
    if (below(2)) x = transposed(x);
    Value y = below(2) ? transposed(x) : below(2) ? ops::transpose(x, {}) : x;
    const std::size_t batch = x.shape().rank() - 2;
    const bool ta = below(2) != 0;
    const std::int64_t k = x.shape()[ta ? -2 : -1];
    if (y.shape().slice(0, batch) != x.shape().slice(0, batch)) y = x;
    const bool tb = y.shape()[-1] == k && (y.shape()[-2] != k || below(2));
    if (!tb && y.shape()[-2] != k) return x;
    if (y.shape().size() * x.shape().size() > 400 * largest) return x;
    const Value z = ops::matmul(x, y, ta, tb) * 0.2;
    return tame(below(2) ? transposed(z) : z);
  }

  Value draw(const Shape& shape, DType dtype) {
    return ops::uniform(shape, dtype, 7, below(1000), graph_.constant(3, DType::int32));
  }

  Value differentiated() {
    const Value y = any_float(), x = any_float();
    const std::vector<Value> sources{x};
    const Value dx = gradients(ops::square(y), sources).front();
    return dx ? ops::clip(dx, -4, 4) : Value{};
  }

  Value assigned() {
    if (variables_.empty()) return {};
    const Variable& variable = one_of(random_, variables_);
    Value value;
    for (int tries = 0; tries < 8 && !value; ++tries) {
      const Value x = any();
      if (x.shape().size() == variable.shape().size())
        value = ops::reshape(as(x, variable.dtype()), variable.shape());
      else if (broadcasts(x.shape(), variable.shape()) &&
               broadcast_shapes(x.shape(), variable.shape(), "") == variable.shape())
        value = ops::broadcast_to(as(x, variable.dtype()), variable.shape());
    }
    if (!value) return {};
    const Value old = graph_.read(variable);
    if (below(2)) value = tame(is_floating(old.dtype()) ? old * 0.9 + value : old + value);
    graph_.assign(variable, value);
    return graph_.read(variable);
  }

  /// An optimizer's work: the same update of several variables, by separate gradients or by a shared one.
  Value updated() {
    const Value rate = as(ops::reshape(ops::mean(any_float()), {}), DType::float32), shared = any();
    const bool momentum = below(2) != 0;
    for (const Variable& variable : variables_) {
      if (!is_floating(variable.dtype()) || below(4) == 0) continue;
      const Value old = graph_.read(variable);
      Value gradient = shared.shape() == variable.shape() && below(2) ? as(shared, variable.dtype()) : beside(old);
      if (broadcast_shapes(gradient.shape(), old.shape(), "") != old.shape()) gradient = ops::sin(old);
      Value next = old * 0.9 - as(rate, variable.dtype()) * gradient;
      if (momentum) next = ops::clip(next, -4, 4);
      graph_.assign(variable, next);
      if (below(3) == 0) pool_.push_back(old);
    }
    return shared;
  }

  Value step() {
    const Value x = any();
    const bool floating = is_floating(x.dtype());
    switch (below(26)) {
      case 0:
      case 1:
      case 2: return floating ? unary(x) : as(x, DType::float32);
      case 3:
      case 4:
      case 5:
      case 6: return floating ? binary(x) : x.dtype() == DType::int32 ? integer_binary(x) : as(x, DType::float64);
      case 7: return condition(x);
      case 8: return choice();
      case 9: return converted(x);
      case 10: return reshaped(x);
      case 11: return repeated(x);
      case 12: return transposed(x);
      case 21:
      case 22: return floating ? windowed(x) : as(x, DType::float32);
      case 13: return reduced(x);
      case 14: return rows(any_float());
      case 15: return below(2) ? product(any_float()) : products(any_float());
      case 16: return product(any_float());
      case 17: return differentiated();
      case 18: return assigned();
      case 19: return updated();
      case 23:
      case 24: return part(x);
      case 25: return arranged(x);
      default:
        return below(4) ? assigned() : draw(one_of(random_, shapes_), below(2) ? DType::float32 : DType::float64);
    }
  }

  Graph& graph_;
  Random random_;
  const std::vector<Variable>& variables_;
  const std::vector<Shape>& shapes_;
  std::vector<Value> pool_;
};

}  // namespace

RandomStep::RandomStep(std::uint64_t seed, int ops) : seed_(seed), ops_(ops), batches_(seed, RandomStream::shuffle) {
  Random random = draws(seed);
  // Few extents, so that shapes are often equal; some are longer than a tile, and a few are large enough for several
  // threads.
  const std::vector<std::int64_t> all{1, 2, 3, 5, 8, 17, random.below(8) ? 33 : 600};
  std::vector<std::int64_t> extents;
  for (int i = 0; i < 3; ++i) extents.push_back(one_of(random, all));
  for (int i = 0; i < 5; ++i) {
    Shape shape;
    for (std::uint32_t rank = random.below(4); rank > 0; --rank)
      if (shape.size() * 600 <= largest * 2) shape.append(one_of(random, extents));
    shapes_.push_back(shape);
  }
  const std::vector<DType> dtypes{DType::float32, DType::float32, DType::float64,
                                  DType::int32,   DType::uint8,   DType::boolean};
  for (std::uint32_t i = random.below(3) + 1; i > 0; --i)
    inputs_.emplace_back(one_of(random, shapes_), one_of(random, dtypes));
  for (std::uint32_t i = random.below(7); i > 0; --i) {
    const DType dtype = std::vector{DType::float32, DType::float32, DType::float64, DType::int32}[random.below(4)];
    values_.push_back(random_tensor(random, one_of(random, shapes_), dtype, is_floating(dtype) ? -2 : -5,
                                    is_floating(dtype) ? 2 : 6));
  }
}

std::vector<Tensor> RandomStep::batch() {
  std::vector<Tensor> tensors;
  for (const auto& [shape, dtype] : inputs_) {
    const bool floating = is_floating(dtype);
    const double high = dtype == DType::boolean ? 2 : dtype == DType::uint8 ? 200 : 6;
    tensors.push_back(random_tensor(batches_, shape, dtype,
                                    floating                ? -2
                                    : dtype == DType::int32 ? -5
                                                            : 0,
                                    floating ? 2 : high));
  }
  return tensors;
}

std::vector<Variable> RandomStep::variables() const {
  std::vector<Variable> result;
  for (const Tensor& value : values_) result.emplace_back("v" + std::to_string(result.size()), value);
  if (seed_ % 2 && !result.empty()) flatten(result, {std::make_shared<Storage>(flat_bytes(result))});
  return result;
}

Compiled::Outcome RandomStep::trace(Graph& graph, std::span<const Value> inputs,
                                    const std::vector<Variable>& variables) const {
  Writer writer(graph, Random(seed_, RandomStream::initializer), inputs, variables, shapes_);
  writer.write(ops_);
  return writer.outcome();
}

std::string listing(const Graph& graph) {
  std::ostringstream text;
  for (std::size_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.nodes()[id];
    text << "  %" << id << " = " << name_of(node.op);
    for (const NodeId input : node.inputs) text << " %" << input;
    if (const auto* read = std::get_if<op::Read>(&node.op)) text << ' ' << read->variable.name();
    if (const auto* constant = std::get_if<op::Constant>(&node.op)) text << ' ' << constant->value;
    text << " : " << node.shape << ' ' << node.dtype << '\n';
  }
  for (const Graph::Assignment& assignment : graph.assignments())
    text << "  " << assignment.variable.name() << " := %" << assignment.current << '\n';
  return text.str();
}

}  // namespace etude::testing
