#include "etude/ops/gather.hpp"

#include "etude/base/error.hpp"
#include "etude/graph/detail/rules.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {
namespace {

void check_indices(const char* where, Value indices) {
  check(indices.dtype() == DType::int32, ErrorKind::dtype, where, "indices of dtype ", indices.dtype(),
        " - expected int32 - cast them.");
}

}  // namespace

Meta op::Gather::infer(Operands x) const {
  check_indices("Gather", x[1]);
  check(x[0].shape().rank() > 0, ErrorKind::shape, "Gather", "a scalar - expected rows [n, ..] - reshape it.");
  Shape shape = x[1].shape();
  for (const std::int64_t extent : x[0].shape().slice(1, x[0].shape().rank())) shape.append(extent);
  return {shape, x[0].dtype()};
}

Meta op::ScatterAdd::infer(Operands x) const {
  check_indices("ScatterAdd", x[1]);
  check(rows >= 0, ErrorKind::shape, "ScatterAdd", rows, " rows - expected 0 or more - pass the number of rows.");
  check(is_floating(x[0].dtype()), ErrorKind::dtype, "ScatterAdd", "numbers of dtype ", x[0].dtype(),
        " - expected floats - cast them.");
  const std::size_t rank = x[1].shape().rank();
  check(rank <= x[0].shape().rank() && x[0].shape().slice(0, rank) == x[1].shape(), ErrorKind::shape, "ScatterAdd",
        "indices of shape ", x[1].shape(), " for rows of shape ", x[0].shape(),
        " - expected the leading axes of the rows - check the indices.");
  return {x[0].shape().slice(rank, x[0].shape().rank()).with(0, rows), x[0].dtype()};
}

OperandGradients op::Gather::gradient(const Differential& d) const {
  return {ops::scatter_add(d.dy, d.x[1], d.x[0].shape()[0])};
}
OperandGradients op::ScatterAdd::gradient(const Differential& d) const {
  return {d.dy.graph().append(op::Gather{}, {d.dy, d.x[1]})};
}

namespace ops {

Value take(Value x, Value indices) {
  const Value rows = x.graph().append(op::Gather{}, {x, cast(indices, DType::int32)});
  x.graph().expect({indices.id(), x.shape()[0], "take", "index", "rows", "check the indices"});
  return rows;
}
Value scatter_add(Value x, Value indices, std::int64_t rows) {
  return x.graph().append(op::ScatterAdd{rows}, {x, cast(indices, DType::int32)});
}

}  // namespace ops
}  // namespace etude
