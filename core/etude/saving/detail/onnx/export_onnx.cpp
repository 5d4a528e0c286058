#include "etude/saving/detail/onnx/export_onnx.hpp"

#include <map>
#include <vector>

#include "etude/base/error.hpp"
#include "etude/graph/detail/node.hpp"
#include "etude/saving/detail/model_state.hpp"
#include "etude/saving/detail/onnx/graph_writer.hpp"
#include "etude/saving/detail/onnx/traces.hpp"
#include "etude/training/functional.hpp"
#include "etude/training/sequential.hpp"

namespace etude::onnx {
namespace {

/// A name of the model's, or one that counts: "input_1".
std::string name_at(const std::vector<std::string>& names, std::size_t index, std::string_view otherwise) {
  return index < names.size() ? names[index] : std::string(otherwise) + '_' + std::to_string(index + 1);
}

bool knows_inputs(const Model& model) {
  const auto* sequential = dynamic_cast<const Sequential*>(&model);
  return sequential ? sequential->has_input() : dynamic_cast<const Functional*>(&model) != nullptr;
}

std::vector<std::string> input_names_of(const Model& model) {
  std::vector<std::string> names = model.input_names();
  if (names.empty() && knows_inputs(model))
    for (const SymbolicTensor& input : model.inputs()) names.push_back(input.name());
  return names;
}

/// The inputs, with their names and dtypes.
std::vector<InputSpec> inputs_of(const Model& model, std::vector<InputSpec> inputs) {
  if (inputs.empty() && knows_inputs(model)) {
    for (const SymbolicTensor& input : model.inputs())
      inputs.push_back({input.shape(), std::string(name_of(input.dtype()))});
  } else if (inputs.empty()) {
    check(model.input_shape().has_value(), ErrorKind::state, place, '"', model.name(),
          "\" has not been called yet - expected the shapes of its inputs - set input_signature.");
    const Shape& shape = *model.input_shape();
    inputs.push_back({shape.without(0).with(0, -1)});
  }
  const std::vector<std::string> names = input_names_of(model);
  const bool any = !inputs.empty() && inputs.front().shape.rank() > 0 && inputs.front().shape[0] == -1;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    InputSpec& input = inputs[i];
    if (input.dtype.empty()) input.dtype = name_of(floatx());
    if (input.name.empty()) input.name = name_at(names, i, "input");
    bool known = !any || input.shape.rank() > 0;
    for (std::size_t axis = 0; axis < input.shape.rank(); ++axis) {
      const std::int64_t extent = input.shape[static_cast<std::ptrdiff_t>(axis)];
      known &= axis == 0 && any ? extent == -1 : extent > 0;
    }
    check(known, ErrorKind::value, place, "input \"", input.name, "\" of shape ", input.shape,
          " - expected extents of 1 or more, or for all inputs a first one of -1, any number of rows - set "
          "input_signature.");
  }
  return inputs;
}

/// The names of the variables' tensors: those in files of weights.
std::map<const void*, std::string> variable_names(const Model& model) {
  std::map<const void*, std::string> names;
  for (const auto& variables : {named_weights(model), named_states(model)})
    for (const NamedVariable& each : variables) names.emplace(each.variable.id(), each.name);
  return names;
}

}  // namespace

FileContents onnx_file_of(Model& model, const ExportOptions& options) {
  const std::vector<InputSpec> inputs = inputs_of(model, options.input_signature);
  const Traces traces(inputs, [&](const std::vector<Value>& values) { return model(values, false); });
  const Graph& graph = traces.graph();

  OnnxFile file(options.opset_version);
  const std::map<const void*, std::string> variables = variable_names(model);
  GraphWriter writer(file, traces, variables);
  std::vector<ValueInfo> input_infos, output_infos;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id)
    if (const auto* input = std::get_if<op::Input>(&graph.node(id).op)) {
      const std::string name = file.unique(inputs[static_cast<std::size_t>(input->index)].name);
      input_infos.push_back(writer.info(id, name));
      writer.name_input(id, name);
    }
  const Outputs& outputs = traces.outputs();
  const std::vector<std::string> known = outputs.names().empty() ? model.output_names() : outputs.names();
  std::vector<NodeId> results;
  Names names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(outputs[i].id());
    names.push_back(file.unique(name_at(known, i, "output")));
    output_infos.push_back(writer.info(outputs[i].id(), names.back()));
  }
  writer.write(results, names);
  return file.model(writer.graph(model.name(), input_infos, output_infos));
}

}  // namespace etude::onnx
