#include "etude/distribute/detail/per_replica.hpp"

#include <algorithm>

#include "etude/base/error.hpp"

namespace etude {
namespace {

void check_not_empty(const PerReplica& values) {
  check(!values.empty(), ErrorKind::value, "reduce", "no values - expected a tensor of each replica - pass them.");
}

Tensor concat(const PerReplica& values) {
  Shape shape = values.front().shape();
  const DType dtype = values.front().dtype();
  check(shape.rank() > 0, ErrorKind::shape, "reduce",
        "scalars to concatenate - expected [rows, ..] - take their mean.");
  shape[0] = 0;
  for (const Tensor& value : values) {
    const Shape& own = value.shape();
    check(own.rank() == shape.rank() && own.slice(1, own.rank()) == shape.slice(1, shape.rank()) &&
              value.dtype() == dtype,
          ErrorKind::shape, "reduce", "replicas with ", values.front().shape(), ", ", dtype, " and ", own, ", ",
          value.dtype(), " - expected equal dtypes, and equal shapes except for rows - convert them.");
    shape[0] += own[0];
  }
  Tensor result(shape, dtype);
  std::int64_t row = 0;
  for (const Tensor& value : values) {
    std::copy_n(value.raw(), value.bytes(), result.rows(row, row + value.shape()[0]).raw());
    row += value.shape()[0];
  }
  return result;
}

}  // namespace

RowRange rows_of(std::int64_t batch, int replicas, int index) {
  const auto begin = [&](std::int64_t replica) {
    return replica * (batch / replicas) + std::min(replica, batch % replicas);
  };
  return {begin(index), begin(index + 1)};
}

Tensor reduce(ReduceOp op, const PerReplica& values) {
  check_not_empty(values);
  Tensor result = values.front().clone();
  check(op == ReduceOp::sum || is_floating(result.dtype()), ErrorKind::dtype, "reduce", "the mean of ", result.dtype(),
        " - expected floats - cast them.");
  for (const Tensor& value : values)
    check(value.shape() == result.shape() && value.dtype() == result.dtype(), ErrorKind::shape, "reduce",
          "replicas with ", result.shape(), ", ", result.dtype(), " and ", value.shape(), ", ", value.dtype(),
          " - expected equal shapes and dtypes - combine different numbers of rows by \"concat\".");
  visit_dtype(result.dtype(), [&]<class T>(T) {
    const auto sum = result.data<T>();
    for (std::size_t replica = 1; replica < values.size(); ++replica)
      std::ranges::transform(sum, values[replica].data<T>(), sum.begin(),
                             [](T a, T b) { return static_cast<T>(a + b); });
    if (op == ReduceOp::mean)
      for (T& element : sum) element = static_cast<T>(element / static_cast<T>(values.size()));
  });
  return result;
}

Tensor reduce_per_replica(const PerReplica& values, std::string_view reduction) {
  check_not_empty(values);
  if (reduction == "auto") reduction = values.front().shape().rank() == 0 ? "mean" : "concat";
  if (reduction == "first") return values.front();
  if (reduction == "concat") return concat(values);
  if (reduction == "sum") return reduce(ReduceOp::sum, values);
  check(reduction == "mean", ErrorKind::value, "reduce_per_replica",
        "`reduction` must be \"first\", \"concat\", "
        "\"sum\", \"mean\" or \"auto\", received \"",
        reduction, "\" - expected one of them - pass one.");
  return reduce(ReduceOp::mean, values);
}

}  // namespace etude
