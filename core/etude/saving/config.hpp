#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace etude {

/// Objects in Keras's form: {"class_name": "Dense", "config": {"units": 10, "activation": "relu", …}}. A config's
/// fields are the options of the class; any may be omitted. T is Layer, Loss, Metric, Optimizer, LearningRateSchedule,
/// Initializer, Regularizer or Constraint. Sequential and Functional models are layers too; they include their layers
/// and, once built, the shape of their input. Custom classes are those of register_class(): {"module": null,
/// "class_name": "Gain", "config": {…}, "registered_name": "my_package>Gain"}.

/// The config of an object, as JSON; on one line unless `indent` is positive. An optimizer's config has its current
/// learning rate. Throws Error(value) for an object of a class that is neither Étude's nor registered, or with an
/// unnamed function.
template <class T> std::string to_json(const T& object, int indent = -1);

/// The object of such a text. Only classes of class_names() and registered ones are created: no code of the text is
/// executed and no other file is opened. Throws Error(data) for invalid JSON, and Error(value), naming the class or the
/// field, for unknown ones and for values that the class does not accept.
template <class T> std::shared_ptr<T> from_json(std::string_view text);

/// Étude's classes, which from_json can create.
template <class T> std::vector<std::string> class_names();

}  // namespace etude
