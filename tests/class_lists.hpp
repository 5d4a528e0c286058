#pragma once

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
template <class Visit> void each_class_of_all(Visit visit) {
  each_described_class(visit);
  each_class<callbacks::Callbacks>(visit);
}

}  // namespace etude::testing
