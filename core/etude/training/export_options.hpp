#pragma once

#include <string>
#include <vector>

#include "etude/base/shape.hpp"

namespace etude {

/// The shape and dtype of an input. Source: keras/src/layers/input_spec.py.
struct InputSpec {
  /// The shape, batch axis included; -1 for a batch axis of any extent.
  Shape shape = {};
  /// The element type. Default: floatx().
  std::string dtype = {};
  /// The name of the input. Default: the model's name of it.
  std::string name = {};
};

/// Options of Model::export_model, in Keras's order.
struct ExportOptions {
  /// The format; only "onnx".
  std::string format = "onnx";
  /// The inputs. Default: those of a Functional model, or of a Sequential that begins with an InputLayer, with batches
  /// of any size; else one input of the shape that the model was built for, of floatx().
  std::vector<InputSpec> input_signature = {};
  /// The version of ONNX's operator set, 17 to 22.
  int opset_version = 18;
};

}  // namespace etude
