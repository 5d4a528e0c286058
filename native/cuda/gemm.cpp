#include "cuda/launch.hpp"
#include "cuda/product.hpp"

namespace etude {

using cuda::at;
using cuda::BatchAxes;
using cuda::MatrixOperand;
using cuda::ProductShape;
using instruction::Gemm;

namespace {

ProductShape shape_of(const Gemm& g) { return {g.m, g.n, g.k, g.batch.size()}; }

BatchAxes axes_of(const Shape& extents, const Shape& strides) {
  static_assert(BatchAxes::most == Shape::max_rank);
  BatchAxes axes;
  axes.count = static_cast<int>(extents.rank());
  std::copy(extents.begin(), extents.end(), axes.extents);
  std::copy(strides.begin(), strides.end(), axes.strides);
  return axes;
}

template <class T> MatrixOperand<T> operand_of(const Gemm::Matrix& matrix, const Shape& batch, Addresses addresses) {
  return {at<const T>(addresses, matrix.operand), matrix.transposed ? 1 : matrix.distance,
          matrix.transposed ? matrix.distance : 1, axes_of(batch, matrix.strides)};
}

}  // namespace

std::size_t Cuda::workspace(const Gemm& g) const {
  return static_cast<std::size_t>(shape_of(g).part_elements()) * size_of(g.c.operand.dtype);
}

void Cuda::run(const Gemm& g, Addresses addresses) {
  cuda::with_float(g.c.operand.dtype, [&]<class T>(T) {
    cuda::multiply(*runtime_, shape_of(g), operand_of<T>(g.a, g.batch, addresses),
                   operand_of<T>(g.b, g.batch, addresses), at<T>(addresses, g.c.operand), g.c.distance,
                   axes_of(g.batch, g.c.strides), at<T>(addresses, g.workspace));
  });
  if (g.epilogue) run(*g.epilogue, addresses);
}

}  // namespace etude
