#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "etude/etude.hpp"

/// The classes of all tables, with their C++ types.
namespace etude::testing {

template <class Class> struct Tag {
  using Type = Class;
};

template <class List> struct EachOf;
template <class... Classes> struct EachOf<ClassList<Classes...>> {
  template <class Visit> static void visit(Visit& visit) { (visit(Tag<Classes>{}), ...); }
};
template <class... Lists, class Visit> void each_class(Visit visit) { (EachOf<Lists>::visit(visit), ...); }

/// Calls `visit` with a Tag of each class that has a config.
template <class Visit> void each_described_class(Visit visit) {
  each_class<layers::Layers, losses::Losses, metrics::Metrics, optimizers::Optimizers, schedules::Schedules,
             initializers::Initializers, regularizers::Regularizers, constraints::Constraints>(visit);
}
/// Calls `visit` with a Tag of each class of layers that a model may contain: of all but those of strings.
template <class Visit> void each_layer_of_models(Visit visit) {
  each_class<layers::Layers>([&]<class Class>(Tag<Class> tag) {
    if constexpr (!std::is_base_of_v<StringLayer, Class>) visit(tag);
  });
}
/// Their names.
inline std::vector<std::string> layers_of_models() {
  std::vector<std::string> names;
  each_layer_of_models([&]<class Class>(Tag<Class>) { names.emplace_back(Class::about.name); });
  return names;
}
template <class Visit> void each_class_of_all(Visit visit) {
  each_described_class(visit);
  each_class<callbacks::Callbacks>(visit);
}

}  // namespace etude::testing
