#pragma once

/// Private to core/saving: the ops of Keras that can be read and written, and the arguments of their calls.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etude/saving/detail/config_fields.hpp"
#include "etude/saving/detail/input_config.hpp"

namespace etude {

// registry.cpp reads the parts of objects.
const std::string& class_name_in(const Json& json);
const Json& config_in(const Json& json);

class OpArguments;

/// An op of Keras.
struct OpRow {
  /// Its class, and the module of that: "Sum", "keras.src.ops.numpy".
  const char *class_name, *module;
  /// The function of ops:: or activations::, or "-" if there is none, and its arguments. For each of them there is
  ///
  ///     @           an operand: a tensor, a list of tensors, or a number, in "args"
  ///     axis        an entry of the config, null by default
  ///     axis=-1     the same with another default
  ///     {alpha=1    the same, of an object of options, which is the last argument
  ///     !false      nothing in Keras: only this value can be written
  ///
  /// and, without an argument of the function:
  ///
  ///     +axis=-1    an entry of the config that is always written
  ///     ~dtype=null the same, and only this value can be read
  const char* form;
  /// Computes it.
  Outputs (*build)(const OpArguments& arguments);
};

/// The row of a class of Keras.
std::optional<OpRow> op_row_of_class(std::string_view class_name);
/// The row of a function of ops:: or activations::.
std::optional<OpRow> op_row(std::string_view function);

/// A word of a form: its first character if that is one of "@{!+~", its name, and its value.
struct FormWord {
  char kind;
  std::string_view name, value;
};
/// The words of a form after the function.
std::vector<FormWord> words_of(std::string_view form);

/// A call of an op as it was read.
struct OpReading {
  OpRow row;
  /// The op in errors: Sum "sum".
  std::string where;
  /// The config with the keyword arguments, and the other arguments. Tensors are as in OpCall.
  Json config, arguments;
  std::vector<Variable> constants;
};

/// The arguments of a call of an op, within a trace.
class OpArguments {
 public:
  OpArguments(const OpReading& call, const std::vector<Value>& inputs) : call_(call), inputs_(inputs) {}

  const OpRow& row() const { return call_.row; }
  const std::string& where() const { return call_.where; }
  std::size_t count() const { return call_.arguments.size(); }
  /// Argument `index`. Throws Error(data) if there are fewer.
  const Json& argument(std::size_t index) const;
  /// The tensor that is argument `index`.
  Value value(std::size_t index = 0) const { return tensor(argument(index)); }
  /// The tensors of the list that is the first argument, in the dtype to which Keras promotes them.
  std::vector<Value> list() const;
  /// `count` tensors and numbers from argument `first` on, in the dtype to which Keras promotes them.
  std::vector<Value> alike(std::size_t first, std::size_t count) const;
  /// An entry of the config; `otherwise` if it is missing or null.
  template <class T> T option(const char* name, T otherwise = {}) const {
    return field_in<T>(call_.config, name, call_.where, std::move(otherwise));
  }
  /// The same as it is, null if it is missing.
  const Json& entry(const char* name) const;
  const Json& config() const { return call_.config; }
  /// The entry "axis", counted from the front and sorted; all axes if it is null.
  std::vector<std::ptrdiff_t> axes(const Shape& shape) const;
  /// The variable of an argument that is a constant, or null.
  Variable constant(std::size_t index) const;
  /// Throws Error(value) for arguments that Étude does not support.
  [[noreturn]] void unsupported(const std::string& what, const char* expected) const;

 private:
  Value tensor(const Json& json) const;
  std::vector<Value> promoted(const std::vector<const Json*>& operands) const;

  const OpReading& call_;
  const std::vector<Value>& inputs_;
};

}  // namespace etude
