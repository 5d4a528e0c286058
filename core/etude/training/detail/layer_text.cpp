#include "etude/training/detail/layer_text.hpp"

#include <optional>
#include <vector>

namespace etude {
namespace {

std::string text_of(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + (extent < 0 ? "None" : std::to_string(extent));
  return '(' + text + (shape.rank() == 1 ? ",)" : ")");
}

std::string text_of(const std::vector<Shape>& shapes) {
  if (shapes.empty()) return "?";
  std::string text;
  for (const Shape& shape : shapes) text += (text.empty() ? "" : ", ") + text_of(shape);
  return shapes.size() > 1 ? '[' + text + ']' : text;
}

/// The shape for any batch.
std::vector<Shape> for_any_batch(std::optional<Shape> shape) {
  if (!shape) return {};
  if (shape->rank() > 0) (*shape)[0] = -1;
  return {*shape};
}

}  // namespace

std::string input_shapes_text(const Layer& layer) {
  const auto calls = layer.calls();
  if (calls.empty()) return text_of(for_any_batch(layer.input_shape()));
  std::vector<Shape> shapes;
  for (const SymbolicTensor& input : calls.back()->inputs) shapes.push_back(input.shape());
  return text_of(shapes);
}

std::string output_shapes_text(const Layer& layer) {
  const auto calls = layer.calls();
  if (calls.empty()) return text_of(for_any_batch(layer.output_shape()));
  std::vector<Shape> shapes;
  for (const LayerCall::Output& output : calls.back()->outputs) shapes.push_back(output.shape);
  return text_of(shapes);
}

std::string output_dtype_text(const Layer& layer) {
  const auto calls = layer.calls();
  return std::string(name_of(calls.empty() ? layer.compute_dtype() : calls.back()->outputs.front().dtype));
}

}  // namespace etude
