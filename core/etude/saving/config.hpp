#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace etude {

/// Objects as Keras writes them: {"class_name": "Dense", "config": {"units": 10, "activation": "relu", …}}. A config's
/// fields are those of the class's options, of which any may be left out. T is Layer, Loss, Metric, Optimizer,
/// LearningRateSchedule, Initializer or Regularizer; of layers, Sequential and Functional models too, with their layers
/// and, once they are built, the shape of their input.

/// The config of an object, as JSON; on one line unless `indent` is positive. Of an optimizer it has the learning rate
/// that it has now. Throws Error(value) for an object of a class that is not Étude's, or with a function that has no
/// name.
template <class T> std::string to_json(const T& object, int indent = -1);

/// The object of such a text. Only classes of class_names() are made, whatever the text says: nothing is executed and
/// no other file is opened. Throws Error(data) for what is no such JSON, Error(value) naming the class, or the field,
/// that there is not, or whose value its class does not take.
template <class T> std::shared_ptr<T> from_json(std::string_view text);

/// The classes that from_json makes.
template <class T> std::vector<std::string> class_names();

}  // namespace etude
