#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/classes/class_entry.hpp"

namespace etude {

/// An object of a custom class of another language, as it is saved.
struct CustomObject {
  /// The name of its class.
  std::string class_name;
  /// The name under which its class is registered: "my_package>Gain".
  std::string registered_name;
  /// Its config: a JSON object.
  std::string config;
};

class ClassTable;

/// The custom classes of a program of another language that embeds Étude. An object is a pointer to the kind of class,
/// such as Layer, whose table is `table`.
struct CustomClasses {
  /// The names and the config of an object; none for an object of another class. Throws Error(value) if its class is
  /// not registered.
  std::optional<CustomObject> (*describe)(const ClassTable& table, const void* object) = nullptr;
  /// A new object; null if there is no such class.
  std::shared_ptr<void> (*make)(const ClassTable& table, const CustomObject& object) = nullptr;
};
/// Sets the custom classes of another language. Call it before the first model is created.
void set_custom_classes(const CustomClasses& classes);
/// Those of another language; null functions without any.
const CustomClasses& custom_classes();

/// All classes of a kind in a build, and the custom classes that register_class() added: a config, a name or JavaScript
/// can choose no others. Any thread may register classes and look them up.
class ClassTable {
 public:
  /// `kind` is the name of the kind in errors: "optimizer".
  ClassTable(const char* kind, std::span<const ClassEntry* const> entries);

  /// The kind of the classes: "layer", "loss", …
  const char* kind() const { return kind_; }
  /// The entries of Étude's classes.
  std::span<const ClassEntry* const> entries() const { return entries_; }
  /// Étude's class of that name; null if there is none.
  const ClassEntry* find(std::string_view class_name) const;
  /// The same. Throws Error(value), listing the classes, if there is none.
  const ClassEntry& of_class(std::string_view class_name) const;
  /// The class of a string form: of its name, its factory's name or an alias. Classes with required options have no
  /// string form. Only letters and digits count, as in Keras: "MeanSquaredError", "mean_squared_error" and "MSE" are
  /// the same. Or the registered name of a custom class, "my_package>MyLoss". Throws Error(value), listing the
  /// names, if there is none.
  const ClassEntry& named(std::string_view name) const;

  /// Adds a custom class: see register_class().
  void add(const ClassEntry& entry, std::string_view package, std::string_view name);
  /// The custom class of a registered name; null if there is none.
  const ClassEntry* registered(std::string_view registered_name) const;
  /// The last name under which the custom class was registered; "" if it was not.
  std::string registered_name(const ClassEntry& entry) const;

 private:
  const char* kind_;
  std::vector<const ClassEntry*> entries_;
  std::map<std::string, const ClassEntry*, std::less<>> by_class_, by_name_, registered_;
  std::map<const ClassEntry*, std::string> registered_names_;
  mutable std::mutex mutex_;  // of the last two
};

/// The table of a kind: Activation, Layer, Loss, Metric, Optimizer, LearningRateSchedule, Initializer, Regularizer,
/// Constraint, Callback. Each kind's folder defines it, in classes.cpp, by the list of its classes.
template <class Kind> ClassTable& class_table();

/// Whether a name has the form of registered names: "my_package>MyLoss".
inline bool is_registered_name(std::string_view name) { return name.find('>') != name.npos; }

/// The names of string forms of a class, its factory's first.
std::vector<std::string> names_of(const ClassEntry& entry);

/// Creates an object of a class, with default options except those changed by `set`.
template <class Kind> std::shared_ptr<Kind> make_of(const ClassEntry& entry, void* options) {
  return std::static_pointer_cast<Kind>(entry.make(options));
}
/// Creates an object of a class with default options.
template <class Kind> std::shared_ptr<Kind> make_of(const ClassEntry& entry) {
  return make_of<Kind>(entry, entry.options().get());
}

}  // namespace etude
