#include "etude/data/arrays.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "etude/base/error.hpp"

namespace etude::utils {

Tensor to_categorical(const Tensor& x, std::optional<std::int64_t> num_classes) {
  constexpr const char* where = "utils.to_categorical";
  const std::int64_t count = x.size();
  double largest = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    const double number = x.at(i);
    check(number >= 0 && number < 0x1p31 && number == std::floor(number), ErrorKind::value, where, "the class ", number,
          " - expected a whole number of 0 or more - check the labels.");
    largest = std::max(largest, number);
  }
  check(num_classes || count > 0, ErrorKind::data, where,
        "no labels, and no num_classes - expected at least one of them - pass num_classes.");
  const std::int64_t classes = num_classes.value_or(static_cast<std::int64_t>(largest) + 1);
  check(classes > 0 && largest < static_cast<double>(classes), ErrorKind::value, where, "the class ", largest,
        " of num_classes = ", classes, " - expected classes below num_classes - check the labels, or num_classes.");
  Shape shape = x.shape();
  if (shape.rank() > 1 && shape[-1] == 1) shape = shape.without(-1);
  shape.append(classes);
  Tensor result(shape, DType::float32);
  const auto rows = result.data<float>();
  for (std::int64_t i = 0; i < count; ++i)
    rows[static_cast<std::size_t>(i * classes + static_cast<std::int64_t>(x.at(i)))] = 1;
  return result;
}

namespace {

double norm(const std::vector<double>& vector, double order) {
  double largest = 0, sum = 0;
  for (const double number : vector) largest = std::max(largest, std::abs(number));
  if (std::isinf(order)) return largest;
  if (order == 1 || order == 2) {
    for (const double number : vector) sum += order == 1 ? std::abs(number) : number * number;
    return order == 1 ? sum : std::sqrt(sum);
  }
  for (const double number : vector) sum += std::pow(std::abs(number), order);
  return std::pow(sum, 1 / order);
}

}  // namespace

Tensor normalize(const Tensor& x, const NormalizeOptions& options) {
  constexpr const char* where = "utils.normalize";
  check(options.order > 0, ErrorKind::value, where, "order = ", options.order,
        " - expected a positive number - set the order.");
  const std::size_t axis = x.shape().axis(options.axis, where);
  Tensor result = is_floating(x.dtype()) ? x.clone() : x.astype(DType::float32);
  const std::int64_t extent = x.shape().begin()[axis];
  const std::int64_t inner = x.shape().slice(axis + 1, x.shape().rank()).size();
  if (x.size() == 0) return result;
  std::vector<double> vector(static_cast<std::size_t>(extent));
  for (std::int64_t i = 0; i < x.size() / extent; ++i) {
    const std::int64_t first = i / inner * extent * inner + i % inner;
    const auto place = [&](std::int64_t entry) { return first + entry * inner; };
    for (std::int64_t entry = 0; entry < extent; ++entry) vector[static_cast<std::size_t>(entry)] = x.at(place(entry));
    const double length = norm(vector, options.order);
    if (length == 0) continue;
    visit_dtype(result.dtype(), [&]<class T>(T) {
      auto* numbers = reinterpret_cast<T*>(result.raw());
      for (std::int64_t entry = 0; entry < extent; ++entry)
        numbers[place(entry)] = static_cast<T>(vector[static_cast<std::size_t>(entry)] / length);
    });
  }
  return result;
}

}  // namespace etude::utils
