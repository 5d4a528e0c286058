#pragma once

#include <concepts>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "etude/base/tensor.hpp"

namespace etude {

/// Nested lists of numbers: List{{0, 1}, {1, 0}}, or vectors, or vectors of vectors. Integers become int32, other
/// numbers floatx(). Throws Error(data) for integers beyond int32.
class List {
 public:
  /// One number.
  template <class T>
    requires std::is_arithmetic_v<T>
  List(T number) : tensor_(Tensor::from<double>(Shape{}, {static_cast<double>(number)})) {
    settle(std::is_integral_v<T>);
  }
  /// A row of numbers.
  template <class T>
    requires std::is_arithmetic_v<T> && (!std::same_as<T, bool>)
  List(const std::vector<T>& numbers) {
    tensor_ = Tensor::from<double>(Shape{std::ssize(numbers)}, std::vector<double>(numbers.begin(), numbers.end()));
    settle(std::is_integral_v<T>);
  }
  /// Wraps a tensor.
  explicit List(Tensor numbers) : tensor_(std::move(numbers)) {}
  /// Throws Error(shape) unless all rows are equally long.
  List(const std::vector<List>& rows);
  List(std::initializer_list<List> rows) : List(std::vector<List>(rows)) {}
  template <class T> List(const std::vector<std::vector<T>>& rows)
      : List(std::vector<List>(rows.begin(), rows.end())) {}

  /// The numbers, as a tensor.
  const Tensor& tensor() const { return tensor_; }

 private:
  void settle(bool whole);

  Tensor tensor_;
};

}  // namespace etude
