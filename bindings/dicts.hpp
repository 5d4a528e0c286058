#pragma once

/// Objects as dicts of Values, Tensors and SymbolicTensors by name. Defined in conversion.cpp.
#include "conversion.hpp"

namespace etude::js {

/// The names of an object, sorted, as those of a dict are.
std::vector<std::string> sorted_keys(const val& object);
/// An object with these names, and the values of a list.
val dict_of(const std::vector<std::string>& names, const val& values);
/// The values of an object as a list, in the order of `names`.
val values_of(const val& object, const std::vector<std::string>& names);

/// The inputs or outputs of a model in a description: one SymbolicTensor, a list, or an object.
template <> struct Conversion<SymbolicTensors> {
  static SymbolicTensors from(const val& value, const Where& where);
  static std::string given() { return "SymbolicTensor | SymbolicTensor[] | Record<string, SymbolicTensor>"; }
};

/// The values of an object as a list, in the order of the layer's inputs; any other value as it is. Without inputs by
/// name they are sorted by name, and `call_names` gets the names. Throws Error(data) for a missing input, and without
/// either.
val listed(const Layer& layer, const val& value, std::vector<std::string>* call_names);

/// The inputs of a layer in a description: one SymbolicTensor, a list, or an object.
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
