#include "etude/ops/matmul.hpp"

#include "etude/base/error.hpp"
#include "etude/graph/rules.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Meta infer(const op::MatMul& op, std::span<const Value> x) {
  const Shape &a = x[0].shape(), &b = x[1].shape();
  check(a.rank() == 2 && b.rank() == 2 && a[op.transpose_a ? 0 : 1] == b[op.transpose_b ? 1 : 0], ErrorKind::shape,
        "MatMul", "shapes ", a, op.transpose_a ? " (transposed)" : "", " and ", b,
        op.transpose_b ? " (transposed)" : "", " - expected [m, k] and [k, n] - check the order and the shapes.");
  check(x[0].dtype() == x[1].dtype() && is_floating(x[0].dtype()), ErrorKind::dtype, "MatMul", "dtypes ", x[0].dtype(),
        " and ", x[1].dtype(), " - expected two equal float dtypes - cast one of them.");
  return {{a[op.transpose_a ? 1 : 0], b[op.transpose_b ? 0 : 1]}, x[0].dtype()};
}

OperandGradients gradient(const op::MatMul& op, const Differential& d) {
  const Value &a = d.x[0], &b = d.x[1], &dy = d.dy;
  const bool ta = op.transpose_a, tb = op.transpose_b;
  return {ta ? ops::matmul(b, dy, tb, true) : ops::matmul(dy, b, false, !tb),
          tb ? ops::matmul(dy, a, true, ta) : ops::matmul(a, dy, !ta, false)};
}

namespace ops {

Value matmul(Value a, Value b) {
  check(a.shape().rank() >= 2, ErrorKind::shape, "MatMul", "shapes ", a.shape(), " and ", b.shape(),
        " - expected [.., m, k] and [k, n] - reshape the first.");
  if (a.shape().rank() == 2) return matmul(a, b, false, false);
  Shape shape = a.shape();
  const std::int64_t count = shape.without(-1).size();
  const Value rows = matmul(reshape(a, {count, shape[-1]}), b, false, false);
  shape[-1] = b.shape()[-1];
  return reshape(rows, shape);
}

Value matmul(Value a, Value b, bool transpose_a, bool transpose_b) {
  return a.graph().append(op::MatMul{transpose_a, transpose_b}, {a, b});
}

}  // namespace ops
}  // namespace etude
