#include "conformance.hpp"

#include <limits>

#include "etude/etude.hpp"
#include "support.hpp"

namespace etude::conformance {
namespace {

Shape shape_of(const json& value) {
  Shape shape;
  for (const json* level = &value; level->is_array(); level = &level->front()) {
    shape.append(static_cast<std::int64_t>(level->size()));
    if (level->empty()) break;
  }
  return shape;
}

void flatten_into(const json& value, std::vector<double>& numbers) {
  if (!value.is_array()) return numbers.push_back(number_of(value));
  for (const json& element : value) flatten_into(element, numbers);
}

const json& first_leaf(const json& value) { return value.is_array() && !value.empty() ? first_leaf(value[0]) : value; }

/// One element of the first axis.
Tensor element(const Tensor& tensor, std::int64_t index) {
  return tensor.rows(index, index + 1).reshape(tensor.shape().slice(1, tensor.shape().rank()));
}

Tensor element_at(Tensor tensor, const json& path) {
  if (path.is_number()) return element(tensor, path);
  for (const json& step : path) tensor = element_at(tensor, step);
  return tensor;
}

}  // namespace

double number_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_string()) return value;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return value == "inf" ? infinity : value == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

Tensor tensor_of(const json& value) {
  if (!value.is_object()) {
    std::vector<double> numbers;
    flatten_into(value, numbers);
    return testing::tensor_of(shape_of(value), first_leaf(value).is_boolean() ? DType::boolean : floatx(), numbers);
  }
  const std::vector<std::int64_t> dims = value["shape"];
  Tensor tensor(Shape(dims), DType::float64);
  double i = 0;
  for (double& element : tensor.data<double>())
    element = value.contains("fill") ? number_of(value["fill"]) : value.value("scale", 1.0) * i++;
  return tensor.astype(floatx());
}

std::string difference_from(const json& expect, Tensor got) {
  if (expect.contains("index")) got = element_at(got, expect["index"]);
  Tensor want = tensor_of(expect["value"]);
  if (want.shape().rank() == 0) {  // every element
    Tensor all(got.shape(), DType::float64);
    for (double& element : all.data<double>()) element = want.item();
    want = all;
  }
  // Values are written with eight digits, and many peers ask for more than another summation order can give.
  return testing::difference(got, want, {expect.value("atol", 0.0) + 1e-6, expect.value("rtol", 0.0) + 1e-5});
}

namespace {

/// As the library writes configs: "class" is called "class_name"; what Keras has no effect of is left out.
json in_library_form(const json& value) {
  if (value.is_array()) {
    json result = json::array();
    for (const json& element : value) result.push_back(in_library_form(element));
    return result;
  }
  if (!value.is_object()) return value;
  json result = json::object();
  for (const auto& [name, element] : value.items()) {
    // How Keras computes it: no other numbers.
    if (name == "implementation" || name == "unroll") continue;
    result[name == "class" ? "class_name" : name] = in_library_form(element);
  }
  return result;
}

}  // namespace

template <class T> std::shared_ptr<T> make(const json& class_name, const json& config) {
  return from_json<T>(json{{"class_name", class_name}, {"config", in_library_form(config)}}.dump());
}

template LayerPtr make(const json&, const json&);
template LossPtr make(const json&, const json&);
template MetricPtr make(const json&, const json&);
template OptimizerPtr make(const json&, const json&);
template LearningRateSchedulePtr make(const json&, const json&);
template InitializerPtr make(const json&, const json&);
template RegularizerPtr make(const json&, const json&);

}  // namespace etude::conformance
