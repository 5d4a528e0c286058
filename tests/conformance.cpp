#include "conformance.hpp"

#include <sstream>

#include <algorithm>
#include <limits>

#include "etude/etude.hpp"
#include "etude/ops/shape.hpp"
#include "support.hpp"

namespace etude::conformance {
namespace {

Shape shape_of(const json& value) {
  std::vector<std::size_t> extents;
  for (const json* level = &value; level->is_array(); level = &level->front()) {
    extents.push_back(level->size());
    if (level->empty()) break;
  }
  return shape_in(extents);
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

/// x[start:stop] along an axis, of "slice:start:stop:None" as Python writes it; either may be None.
Tensor slice_at(const Tensor& x, std::ptrdiff_t axis, const std::string& text) {
  std::istringstream parts(text);
  std::string word, start, stop, step;
  std::getline(parts, word, ':');
  std::getline(parts, start, ':');
  std::getline(parts, stop, ':');
  std::getline(parts, step, ':');
  if (word != "slice" || step != "None") throw Missing("index \"" + text + '"');
  const std::int64_t extent = x.shape()[axis];
  const auto place = [&](const std::string& number, std::int64_t otherwise) {
    if (number == "None") return otherwise;
    const std::int64_t at = std::stoll(number);
    return at < 0 ? at + extent : at;
  };
  const std::int64_t first = place(start, 0), last = place(stop, extent);
  return testing::run({x}, [&](std::span<const Value> v) { return ops::slice(v[0], axis, first, last - first); });
}

/// x[*index], of which each entry is a number or a slice.
Tensor indexed(Tensor x, const json& index) {
  std::ptrdiff_t axis = 0;
  for (const json& entry : index) {
    if (entry.is_string()) {
      x = slice_at(x, axis++, entry.get<std::string>());
      continue;
    }
    const std::int64_t at = entry.get<std::int64_t>(), place = at < 0 ? at + x.shape()[axis] : at;
    x = testing::run({x},
                     [&](std::span<const Value> v) { return ops::squeeze(ops::slice(v[0], axis, place, 1), axis); });
  }
  return x;
}

Tensor element_at(Tensor tensor, const json& path) {
  if (path.is_number()) return element(tensor, path);
  if (!path.is_array()) throw Missing("index " + path.dump());
  for (const json& step : path) tensor = step.is_array() ? indexed(tensor, step) : element_at(tensor, step);
  return tensor;
}

}  // namespace

const json& list_in(const json& object, const char* name) {
  const json& list = object.at(name);
  if (!list.is_array()) throw Missing(std::string(name) + " that is no array: " + list.dump());
  return list;
}

void check_names(const json& object, std::initializer_list<std::string_view> needed,
                 std::initializer_list<std::string_view> optional) {
  if (!object.is_object()) throw Missing("an object: " + object.dump());
  for (const std::string_view name : needed)
    if (!object.contains(name)) throw Missing(std::string(name) + " in " + object.dump());
  for (const auto& [name, value] : object.items())
    if (std::ranges::find(needed, name) == needed.end() && std::ranges::find(optional, name) == optional.end())
      throw Missing("what reads \"" + name + '"');
}

Shape shape_in(const json& extents) {
  if (!extents.is_array() || extents.size() > Shape::max_rank) throw Missing("shape " + extents.dump());
  Shape shape;
  double size = 1;
  for (const json& extent : extents) {
    if (!extent.is_number_integer() || extent < 0) throw Missing("shape " + extents.dump());
    size *= extent.get<double>();
    if (size > 16.0 * most_rows) throw Missing("room for shape " + extents.dump());
    shape.append(extent);
  }
  return shape;
}

const json& known(const std::map<std::string, json>& got, const std::string& name) {
  const auto found = got.find(name);
  if (found == got.end()) throw Missing("expectation \"" + name + '"');
  return found->second;
}

double number_of(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_string()) return value;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value != "inf" && value != "-inf") throw Missing("number " + value.dump());
  return value == "inf" ? infinity : -infinity;
}

Tensor tensor_of(const json& value) {
  if (!value.is_object()) {
    std::vector<double> numbers;
    const Shape shape = shape_of(value);
    flatten_into(value, numbers);
    if (std::ssize(numbers) != shape.size()) throw Missing("lists of different lengths");
    return testing::tensor_of(shape, first_leaf(value).is_boolean() ? DType::boolean : floatx(), numbers);
  }
  Tensor tensor(shape_in(value.at("shape")), DType::float64);
  double i = 0;
  for (double& element : tensor.data<double>())
    element = value.contains("fill") ? number_of(value.at("fill")) : value.value("scale", 1.0) * i++;
  return tensor.astype(floatx());
}

std::string difference_from(const json& expect, Tensor got) {
  if (expect.contains("index")) got = element_at(got, expect.at("index"));
  Tensor want = tensor_of(expect.at("value"));
  if (want.shape().rank() == 0) {  // every element
    Tensor all(got.shape(), DType::float64);
    for (double& element : all.data<double>()) element = want.item();
    want = all;
  }
  // Values have eight digits, and many tolerances are smaller than the effect of another summation order.
  return testing::difference(got, want, {expect.value("atol", 0.0) + 1e-6, expect.value("rtol", 0.0) + 1e-5});
}

namespace {

/// In the library's form of configs: "class" becomes "class_name"; options without an effect in Keras are removed.
json in_library_form(const json& value) {
  if (value.is_array()) {
    json result = json::array();
    for (const json& element : value) result.push_back(in_library_form(element));
    return result;
  }
  if (!value.is_object()) return value;
  json result = json::object();
  for (const auto& [name, element] : value.items()) {
    // Options of Keras's implementation, without an effect on numbers.
    if (name == "implementation" || name == "unroll") continue;
    result[name == "class" ? "class_name" : name] = in_library_form(element);
  }
  return result;
}

}  // namespace

template <class T> std::shared_ptr<T> make(const json& class_name, const json& config) {
  if (!class_name.is_string() || !config.is_object()) throw Missing("class " + class_name.dump());
  const std::string text = json{{"class_name", class_name}, {"config", in_library_form(config)}}.dump();
  try {
    return from_json<T>(text);
  } catch (const Error& error) {  // an unknown class or option, or an invalid value of an option
    const std::string_view what = error.what();
    throw Missing(std::string(what.substr(0, what.find(" - "))));
  }
}

template LayerPtr make(const json&, const json&);
template LossPtr make(const json&, const json&);
template MetricPtr make(const json&, const json&);
template OptimizerPtr make(const json&, const json&);
template LearningRateSchedulePtr make(const json&, const json&);
template InitializerPtr make(const json&, const json&);
template RegularizerPtr make(const json&, const json&);
template ConstraintPtr make(const json&, const json&);

}  // namespace etude::conformance
