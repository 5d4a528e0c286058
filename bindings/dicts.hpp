#pragma once

/// Nested lists and objects of Values, Tensors and SymbolicTensors. web/src/nested.ts walks them. Defined in
/// conversion.cpp.
#include "conversion.hpp"

namespace etude::js {

/// The values in nested lists and objects, as a list, and their paths; no paths for a list of values.
struct Flat {
  std::vector<std::string> names;
  val values;
};
/// Flattens by web's function of that name. A value that is neither a list nor an object is the only one.
Flat flat(const val& value, const char* how = "flatten");
/// Lists and objects with these values at these paths.
val packed(const std::vector<std::string>& names, const val& values);

/// The inputs or outputs of a model in a description: SymbolicTensors in lists and objects.
template <> struct Conversion<SymbolicTensors> {
  static SymbolicTensors from(const val& value, const Where& where);
  static std::string given() { return "Nested<SymbolicTensor>"; }
};

/// The values of an object, or of nested ones, as a list, in the order of the layer's inputs; any other value as it is.
/// Without inputs by name they are in their own order, and `call_names` gets the names. Throws Error(data) for a
/// missing input, and without either.
val listed(const Layer& layer, const val& value, std::vector<std::string>* call_names);

/// The inputs of a layer in a description: SymbolicTensors in lists and objects.
struct SymbolicInputs {
  val given;

  /// In the order of the layer's inputs. Throws Error(data) for an object, unless the layer has inputs by name.
  std::vector<SymbolicTensor> of(const Layer& layer) const;
};
template <> struct Conversion<SymbolicInputs> {
  static SymbolicInputs from(const val& value, const Where&) { return {value}; }
  static std::string given() { return Conversion<SymbolicTensors>::given(); }
};

}  // namespace etude::js
