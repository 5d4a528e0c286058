/// Reads and writes the value of the initializer Constant in a config.
#include "etude/saving/detail/config_fields.hpp"

namespace etude {
namespace {

/// Appends the numbers of nested lists. The first list of each depth sets the length of all lists of that depth.
struct NumberReader {
  const FieldPlace& place;
  const Json& whole;
  Shape shape;
  std::vector<double> numbers;

  [[noreturn]] void wrong() const { place.wrong(whole, "a number, or lists of numbers, all of one length"); }
  void read(const Json& json, std::size_t depth) {
    if (!json.is_array()) {
      if (depth != shape.rank() || !(json.is_number() || json.is_boolean())) wrong();
      return numbers.push_back(json.is_boolean() ? json.get<bool>() : json.get<double>());
    }
    const auto length = static_cast<std::int64_t>(json.size());
    if (depth == shape.rank() && numbers.empty() && depth < Shape::max_rank) shape.append(length);
    if (depth >= shape.rank() || shape[static_cast<std::ptrdiff_t>(depth)] != length) wrong();
    for (const Json& element : json) read(element, depth + 1);
  }
};

/// Element `first` and the following ones, as nested lists for the axes from `axis` on.
Json lists_of(const Tensor& array, std::size_t axis, std::int64_t& first) {
  if (axis == array.shape().rank()) return array.at(first++);
  Json list = Json::array();
  for (std::int64_t i = 0; i < array.shape()[static_cast<std::ptrdiff_t>(axis)]; ++i)
    list.push_back(lists_of(array, axis + 1, first));
  return list;
}

}  // namespace

void read_field(const Json& json, initializers::ConstantValue& field, const FieldPlace& place) {
  const bool array = json.is_object() && json.contains("config") && json["config"].is_object() &&
                     json["config"].contains("value") && json.contains("class_name");
  const Json& value = array ? json["config"]["value"] : json;
  NumberReader reader{place, json, {}, {}};
  reader.read(value, 0);
  if (value.is_array())
    field = Tensor::from<double>(reader.shape, reader.numbers);
  else
    field = reader.numbers.front();
}

Json field_json(const initializers::ConstantValue& field, const FieldPlace&) {
  std::int64_t first = 0;
  return field.array() ? lists_of(field.array(), 0, first) : Json(field.number());
}

}  // namespace etude
