// Files of ONNX. ./dev test interop runs them; these tests read their structure.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "allocation_counter.hpp"
#include "etude/etude.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "files_in_memory.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"

#ifdef ETUDE_PROTOZERO
#include <protozero/pbf_reader.hpp>
#endif

using namespace etude;
using testing::error_of;
using testing::FilesInMemory;

#ifdef ETUDE_PROTOZERO
namespace {

using Names = std::vector<std::string>;

/// What the tests read of a file. Names of fields are those of onnx.proto.
struct ParsedNode {
  std::string op_type;
  Names inputs, outputs;
  std::map<std::string, std::vector<std::int64_t>> attributes;  // integers
};
struct ParsedGraph {
  std::vector<ParsedNode> nodes;
  std::map<std::string, std::string> initializers;  // their bytes
  std::map<std::string, Names> inputs, outputs;     // their extents, and dtypes at the end
  std::vector<ParsedGraph> bodies;
};

using protozero::pbf_reader;

template <class Visit> void each_field(pbf_reader message, Visit visit) {
  while (message.next()) visit(message);
}

void parse_shape(pbf_reader shape, Names& extents) {
  each_field(shape, [&](pbf_reader& dim_field) {
    each_field(dim_field.get_message(), [&](pbf_reader& dim) {
      extents.push_back(dim.tag() == 1 ? std::to_string(dim.get_int64()) : dim.get_string());
    });
  });
}

void parse_value(pbf_reader value, std::map<std::string, Names>& values) {
  std::string name;
  Names extents;
  each_field(value, [&](pbf_reader& field) {
    if (field.tag() == 1) return void(name = field.get_string());
    pbf_reader type = field.get_message();
    type.next();
    std::string dtype;
    each_field(type.get_message(), [&](pbf_reader& tensor) {
      if (tensor.tag() == 1)
        dtype = "dtype " + std::to_string(tensor.get_int32());
      else
        parse_shape(tensor.get_message(), extents);
    });
    extents.push_back(dtype);
  });
  values[name] = extents;
}

ParsedGraph parse_graph(pbf_reader graph);

void parse_attribute(pbf_reader attribute, ParsedNode& node, std::vector<ParsedGraph>& bodies) {
  std::string name;
  each_field(attribute, [&](pbf_reader& field) {
    switch (field.tag()) {
      case 1: return void(name = field.get_string());
      case 3:
      case 8: return node.attributes[name].push_back(field.get_int64());
      case 6: return bodies.push_back(parse_graph(field.get_message()));
      default: field.skip();
    }
  });
}

ParsedNode parse_node(pbf_reader node, std::vector<ParsedGraph>& bodies) {
  ParsedNode result;
  each_field(node, [&](pbf_reader& field) {
    switch (field.tag()) {
      case 1: return void(result.inputs.push_back(field.get_string()));
      case 2: return void(result.outputs.push_back(field.get_string()));
      case 4: return void(result.op_type = field.get_string());
      case 5: return parse_attribute(field.get_message(), result, bodies);
      default: field.skip();
    }
  });
  return result;
}

ParsedGraph parse_graph(pbf_reader graph) {
  ParsedGraph result;
  each_field(graph, [&](pbf_reader& field) {
    switch (field.tag()) {
      case 1: return void(result.nodes.push_back(parse_node(field.get_message(), result.bodies)));
      case 5: {
        std::string name, bytes;
        each_field(field.get_message(), [&](pbf_reader& tensor) {
          if (tensor.tag() == 8)
            name = tensor.get_string();
          else if (tensor.tag() == 9)
            bytes = tensor.get_bytes();
          else
            tensor.skip();
        });
        result.initializers[name] = bytes;
        return;
      }
      case 11: return parse_value(field.get_message(), result.inputs);
      case 12: return parse_value(field.get_message(), result.outputs);
      default: field.skip();
    }
  });
  return result;
}

/// The graph that a model is exported to.
ParsedGraph exported(Model& model, const ExportOptions& options = {}) {
  const FilesInMemory memory;
  model.export_model("m.onnx", options);
  const std::vector<std::byte> bytes = memory.files->read("m.onnx");
  ParsedGraph result;
  each_field(pbf_reader(reinterpret_cast<const char*>(bytes.data()), bytes.size()), [&](pbf_reader& field) {
    if (field.tag() == 7)
      result = parse_graph(field.get_message());
    else
      field.skip();
  });
  return result;
}

Names op_types(const ParsedGraph& graph) {
  Names types;
  for (const ParsedNode& node : graph.nodes) types.push_back(node.op_type);
  return types;
}

std::string bytes_of(const Tensor& x) { return {reinterpret_cast<const char*>(x.raw()), x.bytes()}; }

std::shared_ptr<Sequential> model_of(const Shape& shape, LayerPtr layer) {
  return std::make_shared<Sequential>(std::vector<LayerPtr>{layers::input_layer({.shape = shape, .name = "x"}), layer});
}

/// A model of a function, for samples of this shape.
std::shared_ptr<Sequential> model_of(const Shape& shape, Lambda::Function function) {
  return model_of(shape, layers::lambda(std::move(function)));
}

}  // namespace

TEST_CASE("onnx: layers become nodes, and weights initializers of the names in files of weights", "[saving][onnx]") {
  const auto dense = layers::dense({.units = 3, .activation = "relu"});
  const auto model = model_of({4}, dense);
  dense->variables()[1].fill(2);
  const ParsedGraph graph = exported(*model);
  CHECK(op_types(graph) == Names{"MatMul", "Add", "Relu"});
  CHECK(graph.initializers.at("dense/kernel") == bytes_of(dense->variables()[0].value()));
  CHECK(graph.initializers.at("dense/bias") == bytes_of(dense->variables()[1].value()));
  CHECK(graph.nodes[0].inputs == Names{"x", "dense/kernel"});
  CHECK(graph.nodes[1].inputs == Names{graph.nodes[0].outputs[0], "dense/bias"});  // ONNX broadcasts it
  CHECK(graph.nodes[2].outputs == Names{"output_1"});
}

TEST_CASE("onnx: the number of rows may be any, unless input_signature sets it", "[saving][onnx]") {
  const auto model = model_of({2, 3}, layers::flatten());
  const ParsedGraph any = exported(*model);
  CHECK(any.inputs.begin()->second == Names{"batch", "2", "3", "dtype 1"});
  CHECK(any.outputs.begin()->second == Names{"batch", "6", "dtype 1"});
  const ParsedGraph fixed = exported(*model, {.input_signature = {{.shape = {5, 2, 3}, .name = "rows"}}});
  CHECK(fixed.inputs.at("rows") == Names{"5", "2", "3", "dtype 1"});
  CHECK(fixed.outputs.begin()->second == Names{"5", "6", "dtype 1"});
}

TEST_CASE("onnx: extents that depend on the number of rows are computed from it", "[saving][onnx]") {
  const auto model = model_of({2}, [](Value x) {
    const std::int64_t rows = x.shape()[0];
    return ops::reshape(ops::cumsum(ops::ones({2 * rows, 3}), 0), {rows, 6});
  });
  CHECK(op_types(exported(*model)) == Names{"Shape", "Mul", "Concat", "Expand", "CumSum", "Reshape"});
}

TEST_CASE("onnx: inputs and outputs of a dict have its names", "[saving][onnx]") {
  const SymbolicTensor a = layers::input({.shape = {2}}), b = layers::input({.shape = {}, .dtype = "int32"});
  Functional model({{"age", a}, {"photo", b}}, {{"price", a * 2.0}, {"photo", b}});
  const ParsedGraph graph = exported(model);
  CHECK(graph.inputs ==
        std::map<std::string, Names>{{"age", {"batch", "2", "dtype 1"}}, {"photo", {"batch", "dtype 6"}}});
  // A name is unique in a graph of ONNX.
  CHECK(graph.outputs ==
        std::map<std::string, Names>{{"price", {"batch", "2", "dtype 1"}}, {"photo_1", {"batch", "dtype 6"}}});
}

TEST_CASE("onnx: a loop over time is one Scan, and two pooling ops are one MaxPool", "[saving][onnx]") {
  const ParsedGraph lstm = exported(*model_of({5, 3}, layers::lstm({.units = 2, .return_sequences = true})));
  const Names types = op_types(lstm);
  CHECK(std::ranges::count(types, "Scan") == 1);
  REQUIRE(lstm.bodies.size() == 1);
  CHECK(lstm.bodies[0].outputs.size() == 3);  // both carried Values, and the results
  const ParsedGraph pooled = exported(*model_of({4, 4, 1}, layers::max_pooling2d()));
  REQUIRE(op_types(pooled) == Names{"Transpose", "MaxPool", "Transpose"});
  using Attributes = std::map<std::string, std::vector<std::int64_t>>;
  CHECK(pooled.nodes[0].attributes == Attributes{{"perm", {0, 3, 1, 2}}});
  CHECK(pooled.nodes[1].attributes ==
        Attributes{{"kernel_shape", {2, 2}}, {"strides", {2, 2}}, {"dilations", {1, 1}}, {"pads", {0, 0, 0, 0}}});
  CHECK(pooled.nodes[2].attributes == Attributes{{"perm", {0, 2, 3, 1}}});
}

TEST_CASE("onnx: only what the outputs need is written", "[saving][onnx]") {
  const ParsedGraph graph = exported(*model_of({4}, layers::dropout({.rate = 0.5})));
  CHECK(op_types(graph) == Names{"Identity"});
  CHECK(graph.initializers.empty());
}

TEST_CASE("onnx: an op without a form in ONNX is an error, and no file is written", "[saving][onnx][errors]") {
  const FilesInMemory memory;
  const Variable counter("counter", Tensor(Shape{}));
  const auto text_of = [](const std::shared_ptr<Sequential>& model, const ExportOptions& options = {}) {
    return error_of([&] { model->export_model("m.onnx", options); });
  };
  const auto rows_of = [](Value x) { return ops::scalar(static_cast<double>(x.shape()[0]), x); };
  CHECK(text_of(model_of({2}, [](Value x) { return ops::softmax_crossentropy(x, x); })) ==
        "[Model.export_model] the op SoftmaxCrossentropy has no ONNX form - expected ops that ONNX has - leave out the "
        "layer that computes it.");
  CHECK(text_of(model_of({2},
                         [&](Value x) {
                           Graph::current().assign(counter, ops::scalar(1, x));
                           return x;
                         })) ==
        "[Model.export_model] a model that changes the variable \"counter\" when it is called - expected a result that "
        "depends on the inputs alone, for a file of ONNX has no state - leave out random draws and layers that keep "
        "states between batches.");
  const std::string varies =
      "[Model.export_model] a model whose ops depend on the size of the batch, in Constant - expected the "
      "same ops for every size - fix the size by the shapes in input_signature.";
  CHECK(text_of(model_of({2}, [&](Value x) { return x / rows_of(x); })) == varies);
  CHECK(text_of(model_of({2}, layers::dense({.units = 1})), {.format = "tf_saved_model"}) ==
        "[Model.export_model] format = \"tf_saved_model\" - expected \"onnx\" - leave it out.");
  CHECK(text_of(model_of({2}, layers::dense({.units = 1})), {.opset_version = 16}) ==
        "[Model.export_model] opset_version = 16 - expected 17 to 22 - leave it out.");
  CHECK(text_of(std::make_shared<Sequential>(std::vector<LayerPtr>{layers::dense({.units = 1})}, LayerOptions{"m"})) ==
        "[Model.export_model] \"m\" has no weights yet - expected a built model - call build() or fit() first.");
  CHECK(text_of(model_of({2}, layers::flatten()), {.input_signature = {{.shape = {-1, -1}}}}) ==
        "[Model.export_model] input \"x\" of shape [-1, -1] - expected extents of 1 or more, or for all inputs a "
        "first one of -1, any number of rows - set input_signature.");
  CHECK_FALSE(memory.files->exists("m.onnx"));
}

TEST_CASE("onnx: beside the model, one tensor is in memory while it is exported", "[saving][onnx]") {
  const testing::ScratchFolder scratch("etude_onnx_test", testing::ScratchFolder::memory);
  constexpr std::size_t count = 8, units = 300, tensor = units * units * sizeof(float), buffers = 300'000;
  Sequential model;
  for (std::size_t i = 0; i < count; ++i) model.add(layers::dense({.units = units, .use_bias = false}));
  model.build({-1, units});
  const WatchedMemory memory;
  model.export_model(scratch.path() + "/m.onnx");
  CHECK(memory.peak() < tensor + buffers);
}
#else
TEST_CASE("onnx: export is an error in a build without protozero", "[saving][onnx][errors]") {
  Sequential model({layers::input_layer({.shape = {2}})});
  CHECK(error_of([&] { model.export_model("m.onnx"); }) ==
        "[Model.export_model] a build without protozero - expected one with it - install libprotozero-dev and build "
        "again.");
}
#endif
