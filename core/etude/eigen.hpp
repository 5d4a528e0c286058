#pragma once

/// Interoperation with Eigen 3.4: Tensors as Eigen's matrices, vectors and tensors, and Tensors over Eigen's objects.
/// etude.hpp does not include this file; a program that includes it needs Eigen on its include path.
///
///     eigen::Matrix<float> x = …, y = …;                           // [rows, features], [rows, targets]
///     model.fit(eigen::view(x), eigen::view(y), {.epochs = 5});    // reads the matrices without a copy
///     Tensor predicted = model.predict(eigen::view(x));
///     float largest = eigen::matrix<float>(predicted).maxCoeff();  // reads the Tensor without a copy
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <unsupported/Eigen/CXX11/Tensor>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/tensor.hpp"

namespace etude::eigen {

/// A row-major matrix, like a Tensor.
template <class T> using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// A column vector.
template <class T> using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// ---- A Tensor as Eigen sees it: no copy. The view reads and writes the Tensor's bytes, and does not keep them alive.
// ----

namespace detail {

inline void check_rank(const Tensor& tensor, std::size_t rank, const char* where) {
  check(tensor.shape().rank() == rank, ErrorKind::shape, where, "a Tensor of shape ", tensor.shape(), " - expected ",
        rank, rank == 1 ? " axis" : " axes", " - reshape the Tensor.");
}
inline Eigen::Index extent(const Tensor& tensor, std::ptrdiff_t axis) {
  return static_cast<Eigen::Index>(tensor.shape()[axis]);
}
template <int rank> Eigen::DSizes<Eigen::Index, rank> sizes(const Tensor& tensor) {
  Eigen::DSizes<Eigen::Index, rank> result;
  for (std::size_t axis = 0; axis < rank; ++axis) result[axis] = extent(tensor, static_cast<std::ptrdiff_t>(axis));
  return result;
}

}  // namespace detail

/// A Tensor [rows, columns] as a matrix. Throws Error(shape) for another rank, Error(dtype) if T is not its dtype.
template <class T> Eigen::Map<Matrix<T>> matrix(Tensor& tensor) {
  detail::check_rank(tensor, 2, "eigen::matrix");
  return {tensor.data<T>().data(), detail::extent(tensor, 0), detail::extent(tensor, 1)};
}
/// The same for reading only.
template <class T> Eigen::Map<const Matrix<T>> matrix(const Tensor& tensor) {
  detail::check_rank(tensor, 2, "eigen::matrix");
  return {tensor.data<T>().data(), detail::extent(tensor, 0), detail::extent(tensor, 1)};
}
template <class T> void matrix(Tensor&&) = delete;  // its bytes would be freed

/// A Tensor [size] as a vector. Throws as `matrix` does.
template <class T> Eigen::Map<Vector<T>> vector(Tensor& tensor) {
  detail::check_rank(tensor, 1, "eigen::vector");
  return {tensor.data<T>().data(), detail::extent(tensor, 0)};
}
/// The same for reading only.
template <class T> Eigen::Map<const Vector<T>> vector(const Tensor& tensor) {
  detail::check_rank(tensor, 1, "eigen::vector");
  return {tensor.data<T>().data(), detail::extent(tensor, 0)};
}
template <class T> void vector(Tensor&&) = delete;

/// A Tensor of that rank as an Eigen tensor, row-major. Throws as `matrix` does.
template <class T, int rank> Eigen::TensorMap<Eigen::Tensor<T, rank, Eigen::RowMajor>> tensor(Tensor& tensor) {
  detail::check_rank(tensor, rank, "eigen::tensor");
  return {tensor.data<T>().data(), detail::sizes<rank>(tensor)};
}
/// The same for reading only.
template <class T, int rank>
Eigen::TensorMap<const Eigen::Tensor<T, rank, Eigen::RowMajor>> tensor(const Tensor& tensor) {
  detail::check_rank(tensor, rank, "eigen::tensor");
  return {tensor.data<T>().data(), detail::sizes<rank>(tensor)};
}
template <class T, int rank> void tensor(Tensor&&) = delete;

// ---- Tensors over Eigen's objects. A matrix becomes [rows, columns], a vector [size]. ----

namespace detail {

template <class Derived> Shape shape_of(const Eigen::DenseBase<Derived>& matrix) {
  if constexpr (Derived::IsVectorAtCompileTime)
    return {matrix.size()};
  else
    return {matrix.rows(), matrix.cols()};
}
template <class T, int rank, int options> Shape tensor_shape(const Eigen::Tensor<T, rank, options>& tensor) {
  Shape shape;
  for (std::size_t axis = 0; axis < rank; ++axis) shape.append(tensor.dimension(axis));
  return shape;
}

/// The elements' address, if their layout is that of a Tensor.
template <class Derived> const typename Derived::Scalar* data_of(const Eigen::DenseBase<Derived>& given) {
  static_assert(static_cast<bool>(Derived::Flags & Eigen::DirectAccessBit),
                "an expression has no memory - use eigen::copy, which computes it");
  static_assert(Derived::IsRowMajor || Derived::IsVectorAtCompileTime,
                "a column-major matrix has another order than a Tensor - use eigen::copy, or an eigen::Matrix");
  const Derived& matrix = given.derived();
  const Eigen::Index rows = Derived::IsVectorAtCompileTime ? 1 : matrix.rows(),
                     columns = matrix.size() / std::max<Eigen::Index>(rows, 1);
  check((columns <= 1 || matrix.innerStride() == 1) && (rows <= 1 || matrix.outerStride() == columns), ErrorKind::shape,
        "eigen::view", "rows that lie ", matrix.outerStride(), " elements apart, columns ", matrix.innerStride(),
        " - expected ", columns, " and 1, without gaps - use eigen::copy.");
  return matrix.data();
}

template <class T> Tensor over(const Shape& shape, const T* data, std::shared_ptr<void> owner = {}) {
  return Tensor::borrow(shape, dtype_of<T>, const_cast<T*>(data), std::move(owner));
}

}  // namespace detail

/// A Tensor over a matrix's own memory, which must outlive it and keep its size: no copy. For row-major matrices,
/// vectors, Maps and blocks of whole rows. Throws Error(shape) if there are gaps between rows.
template <class Derived> Tensor view(Eigen::DenseBase<Derived>& matrix) {
  return detail::over(detail::shape_of(matrix), detail::data_of(matrix));
}
/// The same for reading only.
template <class Derived> const Tensor view(const Eigen::DenseBase<Derived>& matrix) {
  return detail::over(detail::shape_of(matrix), detail::data_of(matrix));
}
/// A Tensor over the memory of an Eigen tensor: no copy.
template <class Derived> void view(Eigen::PlainObjectBase<Derived>&&) = delete;  // use eigen::consume
template <class T, int rank> Tensor view(Eigen::Tensor<T, rank, Eigen::RowMajor>& tensor) {
  return detail::over(detail::tensor_shape(tensor), tensor.data());
}
/// The same for reading only.
template <class T, int rank> const Tensor view(const Eigen::Tensor<T, rank, Eigen::RowMajor>& tensor) {
  return detail::over(detail::tensor_shape(tensor), tensor.data());
}
template <class T, int rank> void view(Eigen::Tensor<T, rank, Eigen::RowMajor>&&) = delete;

/// A Tensor that owns a moved matrix or vector: no copy.
///
///     Tensor x = eigen::consume(std::move(matrix));
template <class Derived> Tensor consume(Eigen::PlainObjectBase<Derived>&& matrix) {
  auto owner = std::make_shared<Derived>(std::move(matrix.derived()));
  return detail::over(detail::shape_of(*owner), detail::data_of(*owner), owner);
}
/// A Tensor that owns a moved Eigen tensor: no copy.
template <class T, int rank> Tensor consume(Eigen::Tensor<T, rank, Eigen::RowMajor>&& tensor) {
  auto owner = std::make_shared<Eigen::Tensor<T, rank, Eigen::RowMajor>>(std::move(tensor));
  return detail::over(detail::tensor_shape(*owner), owner->data(), owner);
}

/// A Tensor with a copy of the elements: of any matrix or expression, in any storage order.
template <class Derived> Tensor copy(const Eigen::DenseBase<Derived>& expression) {
  using T = typename Derived::Scalar;
  Tensor result(detail::shape_of(expression), dtype_of<T>);
  Eigen::Map<Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
      result.data<T>().data(), expression.rows(), expression.cols()) = expression.derived().array();
  return result;
}
/// A Tensor with a copy of an Eigen tensor, also of a column-major one.
template <class T, int rank, int options> Tensor copy(const Eigen::Tensor<T, rank, options>& given) {
  Tensor result(detail::tensor_shape(given), dtype_of<T>);
  auto to = tensor<T, rank>(result);
  if constexpr (options & Eigen::RowMajor) {
    to = given;
  } else {
    std::array<int, rank> reversed;  // the other layout has the axes in reverse order
    for (int axis = 0; axis < rank; ++axis) reversed[static_cast<std::size_t>(axis)] = rank - 1 - axis;
    to = given.swap_layout().shuffle(reversed);
  }
  return result;
}

}  // namespace etude::eigen
