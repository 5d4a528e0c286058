#include "etude/saving/detail/op_arguments.hpp"

#include <algorithm>

#include "etude/ops/elementwise.hpp"

namespace etude {
namespace {

/// The order in which dtypes are promoted: the two of half precision give float32.
int width(DType dtype) {
  switch (dtype) {
    case DType::boolean: return 0;
    case DType::uint8: return 1;
    case DType::int32: return 2;
    case DType::float16:
    case DType::bfloat16: return 3;
    case DType::float32: return 4;
    case DType::float64: break;
  }
  return 5;
}
DType wider(DType a, DType b) {
  if (a != b && is_half(a) && is_half(b)) return DType::float32;
  return width(a) < width(b) ? b : a;
}

}  // namespace

std::vector<FormWord> words_of(std::string_view form) {
  std::vector<FormWord> words;
  for (form.remove_prefix(std::min(form.find(' '), form.size())); !form.empty();) {
    form.remove_prefix(1);
    std::string_view word = form.substr(0, form.find(' '));
    form.remove_prefix(word.size());
    const bool marked = std::string_view("@{!+~").find(word.front()) != std::string_view::npos;
    const char kind = marked ? word.front() : '\0';
    if (marked) word.remove_prefix(1);
    const std::size_t at = word.find('=');
    const bool has_value = at != std::string_view::npos;
    words.push_back(kind == '!' ? FormWord{kind, "", word}
                                : FormWord{kind, word.substr(0, at), has_value ? word.substr(at + 1) : "null"});
  }
  return words;
}

const Json& OpArguments::argument(std::size_t index) const {
  check(index < count(), ErrorKind::data, where(), count(), " operands - expected ", index + 1, " - check the text.");
  return call_.arguments[index];
}

const Json& OpArguments::entry(const char* name) const {
  static const Json none;
  const auto found = call_.config.find(name);
  return found == call_.config.end() ? none : *found;
}

Value OpArguments::tensor(const Json& json) const {
  if (json.is_object()) {
    if (json.contains("input")) return inputs_.at(json["input"].get<std::size_t>());
    if (json.contains("constant"))
      return Graph::current().read(call_.constants.at(json["constant"].get<std::size_t>()));
  }
  fail(ErrorKind::data, where(), "an operand ", JsonExcerpt{json},
       " - expected tensors and numbers - create the model in code.");
}

Variable OpArguments::constant(std::size_t index) const {
  const Json& json = argument(index);
  const bool found = json.is_object() && json.contains("constant");
  return found ? call_.constants.at(json["constant"].get<std::size_t>()) : Variable();
}

/// A number that is none of a dtype of integers makes it float32.
std::vector<Value> OpArguments::promoted(const std::vector<const Json*>& operands) const {
  std::vector<Value> values;
  std::optional<DType> dtype;
  bool has_floats = false;
  for (const Json* each : operands) {
    const bool is_number = each->is_number() || each->is_boolean();
    has_floats |= each->is_number_float();
    values.push_back(is_number ? Value() : tensor(*each));
    if (!is_number) dtype = wider(dtype.value_or(values.back().dtype()), values.back().dtype());
  }
  if (!dtype) dtype = has_floats ? floatx() : DType::int32;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!values[i] && *dtype == DType::boolean) dtype = operands[i]->is_boolean() ? *dtype : DType::int32;
  if (has_floats && !is_floating(*dtype)) dtype = floatx();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Json& json = *operands[i];
    const double number = json.is_boolean() ? json.get<bool>() : json.is_number() ? json.get<double>() : 0;
    values[i] = values[i] ? ops::cast(values[i], *dtype) : Graph::current().constant(number, *dtype);
  }
  return values;
}

std::vector<Value> OpArguments::list() const {
  const Json& list = argument(0);
  check(list.is_array() && !list.empty(), ErrorKind::data, where(), "an argument ", JsonExcerpt{list},
        " - expected a list of tensors - check the text.");
  std::vector<const Json*> operands;
  for (const Json& each : list) operands.push_back(&each);
  return promoted(operands);
}

std::vector<Value> OpArguments::alike(std::size_t first, std::size_t count) const {
  std::vector<const Json*> operands;
  for (std::size_t i = 0; i < count; ++i) operands.push_back(&argument(first + i));
  return promoted(operands);
}

std::vector<std::ptrdiff_t> OpArguments::axes(const Shape& shape) const {
  std::vector<bool> named(shape.rank());
  const Integers given = option<Integers>("axis");
  for (const std::int64_t axis : given.all()) named[shape.axis(static_cast<std::ptrdiff_t>(axis), where())] = true;
  std::vector<std::ptrdiff_t> axes;
  for (std::size_t i = 0; i < named.size(); ++i)
    if (named[i] || given.empty()) axes.push_back(static_cast<std::ptrdiff_t>(i));
  return axes;
}

void OpArguments::unsupported(const std::string& what, const char* expected) const {
  fail(ErrorKind::value, where(), what, ", which is not supported - expected ", expected,
       " - use a layer in its place, or create the model in code.");
}

}  // namespace etude
