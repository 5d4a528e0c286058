#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace etude {

/// Objects in the form of Keras 3: {"module": "keras.layers", "class_name": "Dense", "config": {"units": 10,
/// "activation": "relu", …}, "registered_name": null}. A config's fields are the options of the class; any may be
/// omitted. T is Layer, Loss, Metric, Optimizer, LearningRateSchedule, Initializer, Regularizer or Constraint.
/// Sequential and Functional models are layers too; they include their layers and, once built, the shape of their
/// input. Custom classes are those of register_class(): {"module": null, "class_name": "Gain", "config": {…},
/// "registered_name": "my_package>Gain"}. Source: keras/src/saving/serialization_lib.py.

/// The config of an object, as JSON, which Keras 3 reads unless it lacks the class; on one line unless `indent` is
/// positive. An optimizer's config has its current learning rate. A compiled model has the arguments of compile() as
/// "compile_config", without those that Keras lacks, which are in a member "etude"; with a function among them, it has
/// neither. Throws Error(value) for an object of a class that is neither Étude's nor registered, or with an unnamed
/// function.
template <class T> std::string to_json(const T& object, int indent = -1);

/// The object of such a text, or of one that Keras 3, Keras 2 or TensorFlow.js wrote. A model with a "compile_config"
/// is compiled. Configs with one "shared_object_id" are one object. Fields of other versions that have no effect are
/// ignored. Only classes of class_names() and registered ones are created: no code of the text is
/// executed and no other file is opened. Throws Error(data) for invalid JSON, and Error(value), naming the class or the
/// field, for unknown ones and for values that the class does not accept.
template <class T> std::shared_ptr<T> from_json(std::string_view text);

/// Étude's classes, which from_json can create.
template <class T> std::vector<std::string> class_names();

}  // namespace etude
