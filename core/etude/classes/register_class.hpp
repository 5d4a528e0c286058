#pragma once

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

/// Registers a custom class, so that its objects are saved and loaded: by Model::save, load_model, to_json, from_json
/// and clone_model. The class is a Layer, Loss, Metric, Optimizer, LearningRateSchedule, Initializer, Regularizer or
/// Constraint. It declares its name and its options as Étude's classes do, and its objects have a description:
///
///     struct GainOptions {
///       double factor = 1;
///       std::string name = {}, dtype = {};
///       template <class O = GainOptions> static constexpr auto fields() {
///         return option_rows(option<&O::factor>("Factor of the inputs."), layer_fields<O>());
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

}  // namespace etude
