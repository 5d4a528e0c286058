#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "etude/classes/class_table.hpp"

namespace etude {

class Model;

namespace detail {
/// The kind of a class, such as Layer.
template <class Class>
using KindOf = typename decltype(make_object<Class>(std::declval<OptionsOf<Class>>()))::element_type::Kind;
}  // namespace detail

/// Registers a custom class, so that its objects are saved and loaded: by save_model, to_json, from_json and
/// clone_model. The class is a Layer, Loss, Metric, Optimizer, LearningRateSchedule, Initializer, Regularizer or
/// Constraint. It declares its name and its options as Étude's classes do, and its objects have a description:
///
///     struct GainOptions {
///       double factor = 1;
///       std::string name = {}, dtype = {};
///       static constexpr auto fields() {
///         return option_rows(option<&GainOptions::factor>("Factor of the inputs."), layer_fields<GainOptions>());
///       }
///     };
///     class Gain : public Layer {
///      public:
///       using Options = GainOptions;
///       static constexpr ClassText about{"Gain", "Multiplies its inputs by a number."};
///       explicit Gain(GainOptions options) : Layer(class_entry<Gain>, options), factor_(options.factor) {}
///       …
///     };
///     register_class<Gain>("my_package");
///
/// Classes of other kinds than Layer need not set the description: make_object<Class>(options) does. The class is
/// called "package>name" in configs, in the form of Keras, and where a string names a class; without required options
/// only. Under a second name a class has both for loading, and the second for saving. Call it before the class is
/// needed, once or again, from any thread. Throws Error(value) if the name is that of another class, if the class has
/// the name of one of Étude's, and for a package or a name that is empty or contains ">". Source:
/// keras/src/saving/object_registration.py.
template <class Class>
void register_class(std::string_view package = "Custom", std::string_view name = Class::about.name) {
  static_assert(!std::is_base_of_v<Model, Class>, "a model has no options: register the classes of its layers");
  class_table<detail::KindOf<Class>>().add(class_entry<Class>, package, name);
}

/// An object of a custom class of another language, as it is saved.
struct CustomObject {
  /// The name of its class.
  std::string class_name;
  /// The name under which its class is registered: "my_package>Gain".
  std::string registered_name;
  /// Its config: a JSON object.
  std::string config;
};

/// The custom classes of the program that embeds Étude, if they are classes of another language. Set it before the
/// first model is created.
template <class Kind> struct CustomClasses {
  /// The names and the config of an object; none for an object of other classes. Throws Error(value) if the class is
  /// not registered.
  std::optional<CustomObject> (*describe)(const Kind& object) = nullptr;
  /// The object; null if there is no such class.
  std::shared_ptr<Kind> (*make)(const CustomObject& object) = nullptr;
};
/// Those of the program.
template <class Kind> inline CustomClasses<Kind> custom_classes;

}  // namespace etude
