#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

namespace etude {

/// An option that a caller passes by name or as an object, as in Keras: "adam", or optimizers::adam({…}).
template <class T> class Choice {
 public:
  Choice() = default;
  /// A name, which is looked up later.
  Choice(const char* name) : name_(name) {}
  Choice(std::string name) : name_(std::move(name)) {}
  /// An object.
  template <std::derived_from<T> Derived> Choice(std::shared_ptr<Derived> object) : object_(std::move(object)) {}

  /// Whether there is neither a name nor an object.
  bool empty() const { return !object_ && name_.empty(); }
  /// The name; empty for an object.
  const std::string& name() const { return name_; }
  /// The object; null for a name.
  const std::shared_ptr<T>& object() const { return object_; }

 private:
  std::string name_;
  std::shared_ptr<T> object_;
};

}  // namespace etude
