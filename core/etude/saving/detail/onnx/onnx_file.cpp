#include "etude/saving/detail/onnx/onnx_file.hpp"

#include <protozero/pbf_writer.hpp>

namespace etude::onnx {
namespace {

using protozero::pbf_writer;

// The numbers of fields, from onnx.proto of ONNX 1.23.
namespace model_field {
enum { ir_version = 1, producer_name = 2, graph = 7, opset_import = 8 };
}
namespace opset_field {
enum { version = 2 };
}
namespace graph_field {
enum { node = 1, name = 2, initializer = 5, input = 11, output = 12 };
}
namespace node_field {
enum { input = 1, output = 2, name = 3, op_type = 4, attribute = 5 };
}
namespace attribute_field {
enum { name = 1, i = 3, s = 4, g = 6, ints = 8, type = 20 };
enum Type { integer = 2, text = 3, graph = 5, integers = 7 };
}  // namespace attribute_field
namespace tensor_field {
enum { dims = 1, data_type = 2, name = 8, raw_data = 9 };
}
namespace value_field {
enum { name = 1, type = 2 };
}
namespace type_field {
enum { tensor_type = 1, elem_type = 1, shape = 2 };
}
namespace shape_field {
enum { dim = 1, dim_value = 1, dim_param = 2 };
}

void write(pbf_writer& node, const Attribute& attribute) {
  namespace field = attribute_field;
  pbf_writer writer(node, node_field::attribute);
  writer.add_string(field::name, attribute.name.data(), attribute.name.size());
  if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) {
    writer.add_int64(field::i, *number);
    writer.add_enum(field::type, field::integer);
  } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    for (const std::int64_t each : *numbers) writer.add_int64(field::ints, each);
    writer.add_enum(field::type, field::integers);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    writer.add_string(field::s, *text);
    writer.add_enum(field::type, field::text);
  } else {
    writer.add_message(field::g, std::get<Message>(attribute.value).bytes);
    writer.add_enum(field::type, field::graph);
  }
}

void write(pbf_writer& graph, protozero::pbf_tag_type tag, const ValueInfo& value) {
  pbf_writer info(graph, tag);
  info.add_string(value_field::name, value.name);
  pbf_writer type(info, value_field::type);
  pbf_writer tensor(type, type_field::tensor_type);
  tensor.add_int32(type_field::elem_type, data_type(value.dtype));
  std::string extents;  // a message of its own: a nested one of no bytes is left out
  pbf_writer shape(extents);
  for (const Extent& extent : value.shape) {
    pbf_writer dim(shape, shape_field::dim);
    if (const auto* number = std::get_if<std::int64_t>(&extent))
      dim.add_int64(shape_field::dim_value, *number);
    else if (const auto& name = std::get<std::string>(extent); !name.empty())
      dim.add_string(shape_field::dim_param, name);
  }
  tensor.add_message(type_field::shape, extents);
}

std::string_view bytes_of(const void* data, std::size_t size) { return {static_cast<const char*>(data), size}; }

/// Appends the beginning of a field of `size` bytes.
void begin_field(std::string& bytes, std::uint64_t field, std::uint64_t size) {
  constexpr std::uint64_t more = 0x80, of_length = 2;
  for (std::uint64_t number : {field << 3 | of_length, size}) {
    for (; number >= more; number >>= 7) bytes += static_cast<char>(number % more | more);
    bytes += static_cast<char>(number);
  }
}

std::vector<std::int64_t> extents_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace

std::int32_t data_type(DType dtype) {
  switch (dtype) {
    case DType::float32: return 1;
    case DType::uint8: return 2;
    case DType::int32: return 6;
    case DType::boolean: return 9;
    case DType::float16: return 10;
    case DType::float64: return 11;
    case DType::bfloat16: return 16;
  }
  return 0;
}

void Nodes::add(std::string_view op_type, const Names& inputs, const Names& outputs, const Attributes& attributes) {
  pbf_writer graph(bytes_);
  pbf_writer node(graph, graph_field::node);
  for (const std::string& input : inputs) node.add_string(node_field::input, input);
  for (const std::string& output : outputs) node.add_string(node_field::output, output);
  node.add_string(node_field::name, outputs.front());
  node.add_string(node_field::op_type, op_type.data(), op_type.size());
  for (const Attribute& attribute : attributes) write(node, attribute);
}

Message Nodes::graph(const std::string& name, const std::vector<ValueInfo>& inputs,
                     const std::vector<ValueInfo>& outputs, const std::string& before) const {
  // Fields of one message may be written one after the other, in any order.
  Message result{before + bytes_};
  {
    pbf_writer graph(result.bytes);
    graph.add_string(graph_field::name, name);
    for (const ValueInfo& input : inputs) write(graph, graph_field::input, input);
    for (const ValueInfo& output : outputs) write(graph, graph_field::output, output);
  }
  return result;
}

std::string OnnxFile::unique(std::string_view wanted) {
  std::string name(wanted);
  for (int number = 1; !names_.insert(name).second; ++number) name = std::string(wanted) + '_' + std::to_string(number);
  return name;
}

std::size_t FileContents::size() const {
  std::size_t size = head.size();
  for (const Initializer& each : initializers) size += each.size();
  return size;
}

void FileContents::visit_pieces(const std::function<void(std::string_view bytes)>& visit) const {
  visit(head);
  for (const Initializer& each : initializers) {
    visit(each.head);
    if (!each.read) continue;
    const Tensor tensor = each.read();
    visit(bytes_of(tensor.raw(), tensor.bytes()));
  }
}

FileContents::Initializer& OnnxFile::add(const std::string& name, const std::vector<std::int64_t>& extents,
                                         std::int32_t type, std::size_t bytes, std::function<Tensor()> read) {
  std::string fields;
  pbf_writer tensor(fields);
  for (const std::int64_t extent : extents) tensor.add_int64(tensor_field::dims, extent);
  tensor.add_int32(tensor_field::data_type, type);
  tensor.add_string(tensor_field::name, name);
  begin_field(fields, tensor_field::raw_data, bytes);
  FileContents::Initializer& added = initializers_.emplace_back();
  begin_field(added.head, graph_field::initializer, fields.size() + bytes);
  added.head += fields;
  added.read = std::move(read);
  added.bytes = bytes;
  return added;
}

std::string OnnxFile::known(std::string_view wanted, const std::vector<std::int64_t>& extents, std::int32_t type,
                            std::string_view bytes) {
  std::string key = std::to_string(type) + ' ';
  for (const std::int64_t extent : extents) key += std::to_string(extent) + ' ';
  key += bytes;
  const auto [found, is_new] = known_.emplace(std::move(key), "");
  if (is_new) {
    found->second = unique(wanted);
    add(found->second, extents, type, bytes.size()).head += bytes;
  }
  return found->second;
}

std::string OnnxFile::tensor(std::string_view wanted, const Tensor& value) {
  const std::string name = unique(wanted);
  add(name, extents_of(value.shape()), data_type(value.dtype()), value.bytes(), [value] { return value; });
  return name;
}

std::string OnnxFile::tensor(std::string_view wanted, const Variable& variable) {
  const std::string name = unique(wanted);
  add(name, extents_of(variable.shape()), data_type(variable.dtype()), variable.bytes(),
      [variable] { return variable.value(); });
  return name;
}

std::string OnnxFile::scalar(double value, DType dtype) {
  const Tensor tensor = Tensor::from({}, {value}).astype(dtype);
  return known("scalar", {}, data_type(dtype), bytes_of(tensor.raw(), tensor.bytes()));
}

std::string OnnxFile::numbers(const std::vector<std::int64_t>& numbers, bool scalar) {
  std::vector<std::int64_t> extents;
  if (!scalar) extents.push_back(static_cast<std::int64_t>(numbers.size()));
  return known("integers", extents, int64_type, bytes_of(numbers.data(), numbers.size() * sizeof(std::int64_t)));
}

std::string OnnxFile::integers(const std::vector<std::int64_t>& numbers) { return this->numbers(numbers, false); }
std::string OnnxFile::integer(std::int64_t number) { return numbers({number}, true); }

FileContents OnnxFile::model(const Message& graph) const {
  // Of the releases of ONNX that introduced these sets of operators.
  const int ir_version = opset_version < 19 ? 8 : opset_version < 21 ? 9 : 10;
  FileContents file{.head = {}, .initializers = initializers_};
  pbf_writer model(file.head);
  model.add_int64(model_field::ir_version, ir_version);
  model.add_string(model_field::producer_name, "etude");
  {
    pbf_writer opset(model, model_field::opset_import);
    opset.add_int64(opset_field::version, opset_version);
  }
  std::size_t size = graph.bytes.size();
  for (const FileContents::Initializer& each : initializers_) size += each.size();
  begin_field(file.head, model_field::graph, size);
  file.head += graph.bytes;  // whose last fields are the initializers
  return file;
}

}  // namespace etude::onnx
