#include "etude/layers/sampled_shape.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/layers/shape_trace.hpp"

namespace etude {
namespace {

using Extents = Shape SampledShape::*;
using Pass = ShapeTrace::Pass;

/// The shapes of the inputs. If `alike`, unknown extents of inputs of one rank are equal in each axis: to the one that
/// an input knows, or else to the first one.
std::vector<Shape> shapes_of(const std::vector<SampledShape>& inputs, Extents extents, bool alike) {
  std::vector<Shape> shapes;
  for (const SampledShape& x : inputs) shapes.push_back(x.*extents);
  const std::size_t rank = alike ? shapes.front().rank() : 0;
  for (std::ptrdiff_t axis = 1; axis < static_cast<std::ptrdiff_t>(rank); ++axis) {
    std::int64_t shared = 1;
    for (const bool adopts : {false, true})
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (shapes[i].rank() != rank) continue;
        const bool unknown = inputs[i].shape[axis] == -1;
        if (adopts && unknown)
          shapes[i][axis] = shared;
        else if (!adopts && (shared == 1 || (!unknown && shapes[i][axis] > 1)))
          shared = shapes[i][axis];
      }
  }
  return shapes;
}

}  // namespace

SampledShape::SampledShape(const Shape& one_row, const Shape& many_rows, const Shape& for_longer, DType type)
    : shape(one_row), dtype(type), of_one(one_row), of_many(many_rows), of_longer(for_longer) {
  forget_differing(shape, of_many);
  forget_differing(shape, of_longer);
}

SampledShape SampledShape::of_input(const Shape& shape, DType dtype) {
  Shape one = shape, rows = shape, longer_ones = shape;
  for (std::ptrdiff_t axis = 0; axis < static_cast<std::ptrdiff_t>(shape.rank()); ++axis) {
    if (shape[axis] >= 0) continue;
    one[axis] = axis ? sample : 1;
    rows[axis] = axis ? sample : many;
    longer_ones[axis] = axis ? longer : 1;
  }
  return {one, rows, longer_ones, dtype};
}

/// A call of a layer for its shapes.
class ShapesOfCall {
 public:
  ShapesOfCall(Layer& layer, const std::vector<SampledShape>& inputs, bool unknown, bool alike)
      : layer_(layer), inputs_(inputs), unknown_(unknown), alike_(alike) {}

  std::vector<SampledShape> outputs() const;
  std::string where() const { return layer_.where(); }

 private:
  /// The outputs, in a trace that is discarded. The first one builds the layer.
  std::vector<Value> traced(Graph& graph, Extents extents, Pass pass) const;
  void check_variables() const;

  Layer& layer_;
  const std::vector<SampledShape>& inputs_;
  bool unknown_, alike_;
};

std::vector<Value> ShapesOfCall::traced(Graph& graph, Extents extents, Pass pass) const {
  const ShapeTrace scope(pass);
  const Trace trace(graph);
  std::vector<Value> values;
  const std::vector<Shape> shapes = shapes_of(inputs_, extents, alike_);
  for (std::size_t i = 0; i < shapes.size(); ++i) values.push_back(graph.input(shapes[i], inputs_[i].dtype));
  return layer_(values);
}

/// An op is traced for two numbers of rows, since it may move the batch axis, or reduce it. Layers keep it, and may be
/// built for one number of rows.
std::vector<SampledShape> ShapesOfCall::outputs() const {
  Layer::Building building;
  if (unknown_ && !layer_.built()) check_variables();
  Graph graphs[3];
  const std::vector<Value> one = traced(graphs[0], &SampledShape::of_one, Pass::first);
  const std::vector<Value> many = layer_.is_operation() ? traced(graphs[1], &SampledShape::of_many, Pass::first) : one;
  const std::vector<Value> longer = unknown_ ? traced(graphs[2], &SampledShape::of_longer, Pass::again) : one;
  std::vector<SampledShape> outputs;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const auto same_rank = [&](const std::vector<Value>& other) {
      return other.size() == one.size() && other[i].shape().rank() == one[i].shape().rank();
    };
    check(same_rank(many) && same_rank(longer), ErrorKind::shape, layer_.where(),
          "outputs that differ in number or rank for other extents of its inputs - expected the same for any batch - "
          "choose axes independently of extents.");
    Shape of_many = many[i].shape();
    if (!layer_.is_operation()) {
      check(of_many.rank() > 0 && of_many[0] == inputs_[0].of_one[0], ErrorKind::shape, layer_.where(),
            "an output of shape ", of_many,
            " for a batch of one - expected [batch, ..] - use layers that keep the batch axis.");
      of_many[0] = inputs_[0].of_many[0];
    }
    outputs.emplace_back(one[i].shape(), of_many, longer[i].shape(), one[i].dtype());
  }
  building.keep();
  return outputs;
}

/// Compares the variables that the layer would have for two extents. They are discarded.
void ShapesOfCall::check_variables() const {
  std::vector<Variable> of[2];
  for (const bool longer : {false, true}) {
    const Layer::Building building;
    Graph graph;
    traced(graph, longer ? &SampledShape::of_longer : &SampledShape::of_one, Pass::trial);
    of[longer] = layer_.variables();
  }
  for (std::size_t i = 0; i < std::min(of[0].size(), of[1].size()); ++i) {
    Shape shape = of[0][i].shape();
    forget_differing(shape, of[1][i].shape());
    check(std::ranges::count(shape, -1) == 0, ErrorKind::shape, layer_.where(), "its variable \"", of[0][i].name(),
          "\" of shape ", shape, " depends on them - expected known extents there - set them in the input's shape.");
  }
}

std::vector<SampledShape> sampled_outputs(Layer& layer, const std::vector<SampledShape>& inputs) {
  const bool unknown = std::ranges::any_of(inputs, [](const SampledShape& x) { return x.of_one != x.of_longer; });
  const ShapesOfCall call(layer, inputs, unknown, false);
  try {
    return call.outputs();
  } catch (const Error& error) {
    if (!unknown) throw;
    if (inputs.size() > 1) try {
        return ShapesOfCall(layer, inputs, true, true).outputs();
      } catch (const Error&) {
        // The first error is about the inputs as they are.
      }
    fail(error.kind(), call.where(), "called on a tensor of shape ", inputs.front().shape, ", with ",
         SampledShape::sample, " and ", SampledShape::longer, " for unknown extents: ", std::string_view(error.what()));
  }
}

void build_for_any(Layer& layer, const Shape& shape, DType dtype) {
  sampled_outputs(layer, {SampledShape::of_input(shape, dtype)});
}

}  // namespace etude
