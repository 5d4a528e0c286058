#include "etude/ops/matmul.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/graph/detail/rules.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Meta op::MatMul::infer(Operands x) const {
  const Shape &a = x[0].shape(), &b = x[1].shape();
  const std::size_t rank = a.rank();
  check(rank >= 2 && b.rank() == rank && a.slice(0, rank - 2) == b.slice(0, rank - 2) &&
            a[transpose_a ? -2 : -1] == b[transpose_b ? -1 : -2],
        ErrorKind::shape, "MatMul", "shapes ", a, transpose_a ? " (transposed)" : "", " and ", b,
        transpose_b ? " (transposed)" : "", " - expected [.., m, k] and [.., k, n] - check the order and the shapes.");
  check(x[0].dtype() == x[1].dtype() && is_floating(x[0].dtype()), ErrorKind::dtype, "MatMul", "dtypes ", x[0].dtype(),
        " and ", x[1].dtype(), " - expected two equal float dtypes - cast one of them.");
  Shape shape = a;
  shape[-2] = a[transpose_a ? -1 : -2];
  shape[-1] = b[transpose_b ? -2 : -1];
  return {shape, x[0].dtype()};
}

OperandGradients op::MatMul::gradient(const Differential& d) const {
  const Value &a = d.x[0], &b = d.x[1], &dy = d.dy;
  const bool ta = transpose_a, tb = transpose_b;
  return {ta ? ops::matmul(b, dy, tb, true) : ops::matmul(dy, b, false, !tb),
          tb ? ops::matmul(dy, a, true, ta) : ops::matmul(a, dy, !ta, false)};
}

namespace ops {
namespace {

Shape leading(Value x) { return x.shape().slice(0, x.shape().rank() - 2); }

/// The axes of a batch, followed by the axes of x's matrices.
Shape with_matrix(Shape batch, Value x) {
  batch.append(x.shape()[-2]);
  batch.append(x.shape()[-1]);
  return batch;
}

}  // namespace

Value matmul(Value a, Value b) { return matmul(a, b, false, false); }

Value matmul(Value a, Value b, bool transpose_a, bool transpose_b) {
  const std::size_t rank = std::max(a.shape().rank(), b.shape().rank());
  check(std::min(a.shape().rank(), b.shape().rank()) >= 2, ErrorKind::shape, "MatMul", "shapes ", a.shape(), " and ",
        b.shape(), " - expected [.., m, k] and [.., k, n] - reshape operands with one axis.");
  if (rank > 2 && b.shape().rank() == 2 && !transpose_a) {
    Shape shape = a.shape();
    const Value rows = matmul(reshape(a, {shape.without(-1).size(), shape[-1]}), b, false, transpose_b);
    shape[-1] = rows.shape()[-1];
    return reshape(rows, shape);
  }
  if (rank > 2) {
    const Shape batch = broadcast_shapes(leading(a), leading(b), "MatMul");
    a = broadcast_to(a, with_matrix(batch, a));
    b = broadcast_to(b, with_matrix(batch, b));
  }
  return a.graph().append(op::MatMul{transpose_a, transpose_b}, {a, b});
}

}  // namespace ops
}  // namespace etude
